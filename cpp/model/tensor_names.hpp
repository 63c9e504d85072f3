// The rule for names that several tensors of a list have. Segments of one tensor share a name:
// together they are one tensor. Otherwise a repeated name refers to none of the tensors.
// Source: onnx.proto, TensorProto.segment; GraphProto.initializer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/name_table.hpp"

namespace onnxmap::model {

/// Error `model.duplicate_name`; `advice` tells the user how to reach the tensors.
[[nodiscard]] Error duplicate_name(std::string_view name, std::string_view advice);

/// Whether `count` tensors with one name are one tensor, if `segments` of them are segments.
[[nodiscard]] constexpr bool is_one_tensor(std::uint64_t count, std::uint64_t segments) noexcept {
    return count == 1 || segments == count;
}

/// The tensors of one list by name. Those without a name are left out.
class TensorNames {
  public:
    /// Notes the next tensor of the list.
    void add(std::string_view name);

    /// Whether a name was added more than once. If so, call add_segment() for the segments before
    /// position().
    [[nodiscard]] bool has_repeated() const noexcept { return has_repeated_; }

    /// Notes that a tensor with this name is a segment. Call it once for each segment.
    void add_segment(std::string_view name) noexcept;

    /// The number of different names.
    [[nodiscard]] std::uint32_t count() const noexcept { return table_.size(); }

    /// The i-th different name, in the order of the list.
    [[nodiscard]] std::string_view name(std::uint32_t i) const noexcept { return table_.name(i); }

    [[nodiscard]] bool contains(std::string_view name) const noexcept {
        return table_.find(name).has_value();
    }

    /// The position in the list of the tensor with this name, the first one if it has segments.
    /// Throws Error `model.duplicate_name`.
    [[nodiscard]] std::optional<std::uint32_t> position(std::string_view name) const;

    /// position() of each different name, in the order of the list. Throws Error
    /// `model.duplicate_name` before any tensor is read.
    [[nodiscard]] std::vector<std::uint32_t> positions() const;

  private:
    struct Tensors {
        std::uint32_t first;  // in the list
        std::uint32_t count;
        std::uint32_t segments;
    };

    // The position in the list for an entry of the table. Throws Error `model.duplicate_name`.
    [[nodiscard]] std::uint32_t position_at(std::uint32_t entry) const;

    NameTable table_;
    std::vector<Tensors> tensors_;  // by position in table_
    std::uint32_t next_ = 0;        // in the list
    bool has_repeated_ = false;
};

}  // namespace onnxmap::model
