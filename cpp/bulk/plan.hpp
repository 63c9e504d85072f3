// The tensors of a bulk read, in the order in which they are stored, and how the values of each get
// into an array. Items are small because there may be a million of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/initializers.hpp"
#include "model/tensor.hpp"
#include "read/stored_tensors.hpp"
#include "tensor/conversion.hpp"

namespace onnxmap::bulk {

enum class Reading : std::uint8_t {
    view,   // the array is a view of the stored bytes
    parts,  // bytes; any part can be read by itself
    whole,  // the whole tensor is decoded
    text,   // strings, which only Python can make
};

struct Item : read::StoredTensor {
    const onnx::DataTypeInfo* made;   // that reading makes
    const onnx::DataTypeInfo* array;  // of the array: NumPy converts if reading makes another type
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

    [[nodiscard]] const read::StoredTensors& stored() const noexcept { return stored_; }
    /// The items, in the order in which they are stored.
    [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
    /// Bytes that reading all items makes, except strings.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
    /// Bytes of all arrays, except arrays of strings.
    [[nodiscard]] std::uint64_t array_nbytes() const noexcept { return array_nbytes_; }

  private:
    void add(const model::Tensor& tensor, std::uint32_t requested_at, const Options& options);

    read::StoredTensors stored_;
    std::vector<Item> items_;
    std::uint64_t nbytes_ = 0;
    std::uint64_t array_nbytes_ = 0;
};

}  // namespace onnxmap::bulk
