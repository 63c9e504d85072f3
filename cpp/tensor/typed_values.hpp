// The values of one typed field of a TensorProto (float_data, int32_data ...): packed or not, in
// any number of runs. They are counted once, in blocks. Several threads can then decode the
// blocks, each into its part of the array.
// Source: onnx.proto, the comments of TensorProto's *_data fields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "onnx/message.hpp"

namespace onnxmap::tensor {

/// The allowed range of one value of a field, and its bytes in an array.
struct ValueRange {
    std::uint32_t nbytes;  // 1, 2, 4 or 8
    bool bounded;          // otherwise every value of the field's type is allowed
    std::int64_t lowest;
    std::int64_t highest;
};

class TypedValues {
  public:
    /// `message` is a TensorProto whose packed runs are resident, and `row` is one of its typed
    /// fields except string_data. Throws Error `wire.*` for faults that a load with check="lazy"
    /// did not check.
    TypedValues(const onnx::Message& message, const wire::FieldRow& row);

    /// The number of stored values.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// The number of blocks, for decoding in parallel.
    [[nodiscard]] std::size_t size() const noexcept { return blocks_.size(); }
    /// The index of the first value of a block, and the number of its values.
    [[nodiscard]] std::uint64_t first(std::size_t i) const noexcept { return blocks_[i].first; }
    [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept { return blocks_[i].count; }

    /// Writes the values of a block, count(i) * range.nbytes bytes, low bytes first. High bytes
    /// that do not fit are cut off. Returns whether all values were in range. Throws Error
    /// `wire.*`, and `file.changed` if there are fewer values than were counted.
    [[nodiscard]] bool decode(std::size_t i, const ValueRange& range, std::uint8_t* out) const;

  private:
    struct Block {
        ByteView bytes;
        bool packed;  // part of one run; otherwise whole fields of the message
        std::uint64_t first;
        std::uint64_t count;
    };

    void add_run(ByteView run);

    const wire::MessageTable* table_;
    const wire::FieldRow* row_;
    std::vector<Block> blocks_;
    std::uint64_t count_ = 0;
};

/// The bytes of all values if they are one packed run of a fixed width: float_data or double_data
/// as every writer writes them. Arrays can be views of such values.
[[nodiscard]] std::optional<ByteView> single_run(const onnx::Message& message,
                                                 const wire::FieldRow& row);

}  // namespace onnxmap::tensor
