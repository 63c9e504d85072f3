// Many tensors that are about to be read, and where each is stored. They are read in the order in
// which they are stored, and their files are checked before and after.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/initializers.hpp"
#include "model/tensor.hpp"
#include "os/parallel.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"
#include "tensor/values.hpp"

namespace onnxmap::read {

/// A tensor and the place of its values. Small because there may be a million of them.
struct StoredTensor {
    const onnx::DataTypeInfo* type;  // as it is stored
    std::uint64_t count;             // of elements
    std::uint64_t offset;            // of the payload in the source, or of the message
    std::uint64_t stored_nbytes;     // of the payload
    ByteView message;                // the TensorProto as it was loaded: it is an element of a list
    std::uint32_t requested_at;      // its index among the requested positions
    std::uint32_t source;            // among the sources

    [[nodiscard]] std::uint64_t stored_end() const noexcept { return offset + stored_nbytes; }
};

/// Sorts tensors by where they are stored.
template <class Tensors>
void sort_as_stored(Tensors& tensors) {
    std::ranges::sort(tensors, {}, [](const StoredTensor& each) {
        return std::tuple(each.source, each.offset, each.requested_at);
    });
}

class StoredTensors {
  public:
    /// Throws Error `file.changed` if the file of the model has changed.
    explicit StoredTensors(const model::Initializers& initializers);

    [[nodiscard]] const model::Document& document() const noexcept { return *document_; }
    [[nodiscard]] const std::shared_ptr<const source::Source>& source(
        const StoredTensor& tensor) const noexcept {
        return sources_[tensor.source];
    }
    [[nodiscard]] std::span<const std::shared_ptr<const source::Source>> sources() const noexcept {
        return sources_;
    }
    /// The number of concurrent reads that helps.
    [[nodiscard]] unsigned reads_at_once() const noexcept;

    /// Finds and checks the values of a tensor and their file; reads none. Throws Error `tensor.*`,
    /// `ext.*`, `file.changed`, `edit.concurrent`.
    [[nodiscard]] tensor::Values find(const model::Tensor& tensor) const {
        return tensor.values(since_);
    }
    /// Adds the source of values that were found. Returns where they are stored.
    [[nodiscard]] StoredTensor add(const model::Tensor& tensor, const tensor::Values& values,
                                   std::uint32_t requested_at);
    /// Counts the bytes that are made of a tensor, for check_overlap().
    void count_bytes(const StoredTensor& tensor, const tensor::Values& values, std::uint64_t made);
    /// Throws Error `limit.overlap` if tensors refer to the same bytes too often.
    void check_overlap() const;

    [[nodiscard]] model::Tensor tensor(const StoredTensor& tensor) const;
    /// The values of a tensor, found again. Reports no tolerated fault a second time. Throws Error
    /// `file.changed` if their count or type differs from before.
    [[nodiscard]] tensor::Values values(const StoredTensor& tensor) const;

    /// Calls read(values), which decodes a whole tensor, below a guard of its source. Then releases
    /// the pages of the mapping that it read, since they would count as memory of this process. The
    /// caller guards the file of the model.
    template <class Read>
    void read_whole(const StoredTensor& stored, Read&& read) const {
        os::leave_if_stopped();
        tensor(stored).naming([&] {
            tensor::Values found = values(stored);
            source::guard_reads(found.source(), [&] {
                found.check_count();  // before memory is allocated by the shape
                read(found);
                found.for_each_range([&](const auto& source, auto offset, auto nbytes) {
                    source::release(*source, offset, nbytes);
                });
            });
        });
        release(stored);
    }

    /// Releases the pages of the model's file that the message of a tensor is in.
    void release(const StoredTensor& tensor) const noexcept;

    /// Checks the files of some tensors in stored order, after they were read. Sources that report
    /// changes by themselves are skipped. Throws Error `file.changed`.
    template <class Tensors>
    void check_again(const Tensors& tensors) const {
        const source::Timestamp now = source::now();
        const source::Source* looked_at = nullptr;
        for (const StoredTensor& each : tensors) {
            const source::Source& file = *source(each);
            if (&file == std::exchange(looked_at, &file)) continue;
            document_->store().check_after_reading(file, now);
        }
    }

  private:
    [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const source::Source>& source);

    std::shared_ptr<const model::Document> document_;
    source::Timestamp since_;
    std::vector<std::shared_ptr<const source::Source>> sources_;
    std::unordered_map<const source::Source*, std::uint32_t> numbers_;
    std::uint64_t named_nbytes_ = 0;  // of files, or of what is made of them if that is larger
};

}  // namespace onnxmap::read
