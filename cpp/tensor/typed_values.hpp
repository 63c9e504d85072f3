// The values of one typed field of a TensorProto (float_data, int32_data ...): packed or not, in
// any number of runs. They are counted once, in stretches that can then be decoded by several
// threads, each into its part of the array.
// Source: onnx.proto, the comments of TensorProto's *_data fields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "onnx/message.hpp"

namespace onnxmap::tensor {

/// What one value of a field may be, and how many bytes of it an array takes.
struct ValueRange {
    std::uint32_t nbytes;  // 1, 2, 4 or 8
    bool bounded;          // otherwise every value of the field's type is meant
    std::int64_t lowest;
    std::int64_t highest;
};

class TypedValues {
  public:
    /// `message` is a TensorProto, its typed runs resident, `row` one of its typed fields but
    /// string_data. Throws Error `wire.*` where a load with check="lazy" left that open.
    TypedValues(const onnx::Message& message, const wire::FieldRow& row);

    /// Values that are stored.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// Stretches, for those who decode them in parallel.
    [[nodiscard]] std::size_t size() const noexcept { return stretches_.size(); }
    /// Which value is the first of a stretch, and how many it has.
    [[nodiscard]] std::uint64_t first(std::size_t i) const noexcept { return stretches_[i].first; }
    [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept { return stretches_[i].count; }

    /// Writes the values of a stretch, count(i) * range.nbytes bytes, low bytes first; what does
    /// not fit is cut off. Returns whether all were in range. Throws Error `wire.*`, and
    /// `file.changed` where there are fewer values than there were.
    [[nodiscard]] bool decode(std::size_t i, const ValueRange& range, std::uint8_t* out) const;

  private:
    struct Stretch {
        ByteView bytes;
        bool packed;  // part of one run; otherwise whole fields of the message
        std::uint64_t first;
        std::uint64_t count;
    };

    void add_run(ByteView run);
    void count_runs();

    const wire::MessageTable* table_;
    const wire::FieldRow* row_;
    std::vector<Stretch> stretches_;
    std::uint64_t count_ = 0;
};

/// The bytes of all values where they are one packed run of a fixed width: float_data or
/// double_data as every writer writes them. Such values can be looked at where they are.
[[nodiscard]] std::optional<ByteView> single_run(const onnx::Message& message,
                                                 const wire::FieldRow& row);

}  // namespace onnxmap::tensor
