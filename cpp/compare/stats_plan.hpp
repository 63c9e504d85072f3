// The tensors whose statistics are asked for, in the order in which they are stored.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/document.hpp"
#include "model/initializers.hpp"
#include "model/tensor.hpp"
#include "tensor/value_stats.hpp"
#include "tensor/values.hpp"

namespace onnxmap::compare {

struct TensorStats {
    std::string name;
    std::vector<std::int64_t> dims;
    const onnx::DataTypeInfo* type = nullptr;
    tensor::ValueStats values;
};

struct StatsItem {
    const onnx::DataTypeInfo* type;
    std::uint64_t count;          // of elements
    std::uint64_t offset;         // of the payload in the source, or of the message
    std::uint64_t stored_nbytes;  // of the payload
    ByteView message;             // the TensorProto as it was loaded: it is an element of a list
    std::uint32_t result;         // its index among the plan's results
    std::uint32_t source;         // among the plan's sources
    bool is_whole;                // it must be decoded; otherwise any part can be read by itself

    /// Bytes that are read, or made by decoding.
    [[nodiscard]] std::uint64_t nbytes() const noexcept {
        return is_whole ? count * type->itemsize() : stored_nbytes;
    }
    [[nodiscard]] std::uint64_t stored_end() const noexcept { return offset + stored_nbytes; }
};

class StatsPlan {
  public:
    /// `positions`: in the list of initializers. Tensors of strings are left out. Checks for
    /// changed files, then finds and checks all values; reads none. Throws Error `tensor.*`,
    /// `ext.*`, `file.changed`, Error `edit.concurrent`, and `limit.overlap` if the tensors refer
    /// to the same bytes too often.
    StatsPlan(const model::Initializers& initializers, std::span<const std::uint32_t> positions);

    [[nodiscard]] const model::Document& document() const noexcept { return *document_; }
    /// The items, in the order in which they are stored.
    [[nodiscard]] std::span<const StatsItem> items() const noexcept { return items_; }
    [[nodiscard]] const source::Source& source(const StatsItem& item) const noexcept {
        return *sources_[item.source];
    }
    [[nodiscard]] std::span<const std::shared_ptr<const source::Source>> sources() const noexcept {
        return sources_;
    }
    /// The sum over the items.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
    /// The number of concurrent reads that helps.
    [[nodiscard]] unsigned reads_at_once() const noexcept;

    /// The tensors in the order of the positions, with statistics of no values.
    [[nodiscard]] const std::vector<TensorStats>& results() const noexcept { return results_; }

    [[nodiscard]] model::Tensor tensor(const StatsItem& item) const;
    /// The values of an item, found again. Reports no tolerated fault a second time. Throws Error
    /// `file.changed` if their count or type differs from the plan's.
    [[nodiscard]] tensor::Values values(const StatsItem& item) const;

    /// Releases the pages of the model's file that the message of an item is in.
    void release(const StatsItem& item) const noexcept;

    /// Checks all files after they were read. Throws Error `file.changed`.
    void check_again() const;

  private:
    void add(const model::Tensor& tensor, std::uint32_t requested_at);
    [[nodiscard]] std::uint32_t source_number(const std::shared_ptr<const source::Source>& source);
    void leave_strings_out();

    std::shared_ptr<const model::Document> document_;
    source::Timestamp since_;
    std::vector<std::shared_ptr<const source::Source>> sources_;
    std::unordered_map<const source::Source*, std::uint32_t> source_numbers_;
    std::vector<StatsItem> items_;
    std::vector<TensorStats> results_;
    std::uint64_t nbytes_ = 0;
    std::uint64_t named_nbytes_ = 0;  // of files, or of the elements if they are larger
};

}  // namespace onnxmap::compare
