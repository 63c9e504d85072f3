// The tensors of a bulk read, in the order in which they are stored, and how the values of each get
// into an array. Items are small because there may be a million of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/document.hpp"
#include "model/initializers.hpp"
#include "model/tensor.hpp"
#include "tensor/conversion.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bulk {

enum class Reading : std::uint8_t {
    view,   // the array is a view of the stored bytes
    parts,  // bytes; any part can be read by itself
    whole,  // the whole tensor is decoded
    text,   // strings, which only Python can make
};

struct Item {
    const onnx::DataTypeInfo* type;   // as it is stored
    const onnx::DataTypeInfo* made;   // that reading makes
    const onnx::DataTypeInfo* array;  // of the array: NumPy converts if reading makes another type
    std::uint64_t count;              // of elements
    std::uint64_t offset;             // of the payload in the source, or of the message
    std::uint64_t stored_nbytes;      // of the payload
    ByteView message;            // the TensorProto as it was loaded: it is an element of a list
    std::uint32_t requested_at;  // its index among the requested positions
    std::uint32_t source;        // among the plan's sources
    Reading reading;

    /// Bytes that reading makes.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return count * made->itemsize(); }
    /// Bytes of the array.
    [[nodiscard]] std::uint64_t array_nbytes() const noexcept { return count * array->itemsize(); }
    [[nodiscard]] bool is_cast_by_numpy() const noexcept { return array != made; }
    /// Bytes that are in memory while the array is made. For decoded values the message is in
    /// memory, too.
    [[nodiscard]] std::uint64_t resident_nbytes() const noexcept {
        return reading == Reading::whole ? std::max<std::uint64_t>(nbytes(), message.size())
                                         : nbytes();
    }
    [[nodiscard]] std::uint64_t stored_end() const noexcept { return offset + stored_nbytes; }
    [[nodiscard]] tensor::Conversion conversion() const;
    /// Whether the array's memory is allocated for it.
    [[nodiscard]] bool is_fresh() const noexcept {
        return reading == Reading::parts || reading == Reading::whole;
    }
};

struct Options {
    const onnx::DataTypeInfo* float_type = nullptr;  // all floating-point tensors become this type
    bool copies = true;                              // fresh arrays even if a view is possible
    bool release_pages = false;                      // release pages that reading headers maps
};

class Plan {
  public:
    /// `positions`: in the list of initializers. Checks for changed files, then finds and checks
    /// all values; reads none. Throws Error `tensor.*`, `ext.*`, `file.changed`, Error
    /// `edit.concurrent`, and `limit.overlap` if the tensors refer to the same bytes too often.
    Plan(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
         const Options& options);

    [[nodiscard]] const model::Document& document() const noexcept { return *document_; }
    /// The items, in the order in which they are stored.
    [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
    [[nodiscard]] const std::shared_ptr<const source::Source>& source(
        const Item& item) const noexcept {
        return sources_[item.source];
    }
    [[nodiscard]] std::span<const std::shared_ptr<const source::Source>> sources() const noexcept {
        return sources_;
    }
    /// Bytes that reading all items makes, except strings.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
    /// Bytes of all arrays, except arrays of strings.
    [[nodiscard]] std::uint64_t array_nbytes() const noexcept { return array_nbytes_; }
    /// The number of concurrent reads that helps.
    [[nodiscard]] unsigned reads_at_once() const noexcept;

    [[nodiscard]] model::Tensor tensor(const Item& item) const;
    /// The values of an item, found again. Reports no tolerated fault a second time. Throws Error
    /// `file.changed` if their count or type differs from the plan's.
    [[nodiscard]] tensor::Values values(const Item& item) const;

    /// Releases the pages of the model's file that the message of an item is in.
    void release(const Item& item) const noexcept;

    /// Checks the files of `items`, a part of the plan's, after they were read. Sources that report
    /// changes by themselves are skipped. Throws Error `file.changed`.
    void check_again(std::span<const Item> items) const;

  private:
    void add(const model::Tensor& tensor, std::uint32_t requested_at, const Options& options);
    [[nodiscard]] std::uint32_t source_number(const std::shared_ptr<const source::Source>& source);

    std::shared_ptr<const model::Document> document_;
    source::Timestamp since_;
    std::vector<std::shared_ptr<const source::Source>> sources_;
    std::unordered_map<const source::Source*, std::uint32_t> source_numbers_;
    std::vector<Item> items_;
    std::uint64_t nbytes_ = 0;
    std::uint64_t array_nbytes_ = 0;
    std::uint64_t named_nbytes_ = 0;  // of files, or of the arrays if they are larger
};

}  // namespace onnxmap::bulk
