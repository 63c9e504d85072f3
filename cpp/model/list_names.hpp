// The elements of a list by name: initializers, nodes, inputs, functions. A name that several
// elements have refers to none of them. Segments of one tensor are an exception: they share a name,
// and together they are one tensor.
// Source: onnx.proto, TensorProto.segment; GraphProto.initializer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/field_index.hpp"
#include "model/name_table.hpp"

namespace onnxmap::model {

/// Error `model.duplicate_name`. `what` says what an element is, like "tensor"; `advice` tells the
/// user how to reach the elements.
[[nodiscard]] Error duplicate_name(std::string_view what, std::string_view name,
                                   std::string_view advice);

/// Whether `count` tensors with one name are one tensor, if `segments` of them are segments.
[[nodiscard]] constexpr bool is_one_tensor(std::uint64_t count, std::uint64_t segments) noexcept {
    return count == 1 || segments == count;
}

/// The elements of one list by name. Those without a name are left out.
class ListNames {
  public:
    /// `what` and `advice` are for the error; see duplicate_name(). `text`: whether the names,
    /// which are parts of a document, are copied.
    ListNames(std::string what, std::string advice, NameTable::Text text)
        : what_(std::move(what)), advice_(std::move(advice)), table_(text) {}

    /// What an element is, like "tensor".
    [[nodiscard]] const std::string& what() const noexcept { return what_; }

    /// Makes room for this many names.
    void reserve(std::uint64_t names) {
        table_.reserve(names);
        elements_.reserve(names);
    }

    /// Notes the next element of the list.
    void add(std::string_view name);

    /// Notes all elements, which probably have `names` names: `for_each(visit)` calls visit(name)
    /// for each element in order.
    template <class ForEach>
    void add_all(std::uint64_t names, ForEach&& for_each) {
        reserve(names);
        NamesInFlight<std::uint32_t> in_flight(table_);
        const auto note_added = [&](const NameTable::Added& added, std::uint32_t element) {
            note(added, element);
        };
        for_each([&](std::string_view name) {
            const std::uint32_t here = next_++;
            if (!name.empty()) in_flight.add(name, here, note_added);
        });
        in_flight.finish(note_added);
    }

    /// Whether a name was added more than once. If so, call add_segment() for the segments before
    /// position().
    [[nodiscard]] bool has_repeated() const noexcept { return has_repeated_; }

    /// Notes that a tensor with this name is a segment. Call it once for each segment.
    void add_segment(std::string_view name) noexcept;

    /// The number of different names.
    [[nodiscard]] std::uint32_t count() const noexcept { return table_.size(); }

    /// The i-th different name, in the order of the list.
    [[nodiscard]] std::string_view name(std::uint32_t i) const noexcept { return table_.name(i); }
    /// All of them.
    [[nodiscard]] std::span<const std::string_view> distinct() const noexcept {
        return table_.names();
    }

    /// The names that contain `name`, of those the shortest, then the names that have most
    /// characters in common with it at both ends: at most `most`, in the order of the list.
    [[nodiscard]] std::vector<std::string_view> most_like(std::string_view name,
                                                          std::size_t most) const;

    [[nodiscard]] bool contains(std::string_view name) const noexcept {
        return table_.find(name).has_value();
    }

    /// The position in the list of the element with this name, the first one if it has segments.
    /// Throws Error `model.duplicate_name`.
    [[nodiscard]] std::optional<std::uint32_t> position(std::string_view name) const;

    /// position() of each different name, in the order of the list. Throws Error
    /// `model.duplicate_name` before any element is read.
    [[nodiscard]] std::vector<std::uint32_t> positions() const;

  private:
    struct Elements {
        std::uint32_t first;  // in the list
        std::uint32_t count;
        std::uint32_t segments;
    };

    void note(const NameTable::Added& added, std::uint32_t element);

    // The position in the list for an entry of the table. Throws Error `model.duplicate_name`.
    [[nodiscard]] std::uint32_t position_at(std::uint32_t entry) const;

    std::string what_;
    std::string advice_;
    NameTable table_;
    os::LargeVector<Elements> elements_;  // by position in table_
    std::uint32_t next_ = 0;              // in the list
    bool has_repeated_ = false;
};

/// The field that names the elements of a list: `name`, or `op_type` of an operator. Null if they
/// have neither.
[[nodiscard]] const wire::FieldRow* naming_field(const wire::FieldRow& list);

/// The messages of a repeated field by their naming_field(), which they must have.
[[nodiscard]] ListNames names_in_list(const FieldIndex& fields, const wire::FieldRow& row);

}  // namespace onnxmap::model
