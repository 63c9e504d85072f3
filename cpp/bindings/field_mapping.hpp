// The entries of a repeated field by name, for Python: attributes, metadata, operator sets. A
// mapping always shows the field as it is now, and to change it changes the field.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/handles.hpp"
#include "model/name_table.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// A repeated field of a message, whose entries have names.
struct FieldMapping : Handle {
    FieldMapping(const Handle& message, const wire::FieldRow& field)
        : Handle(message), row(&field) {}

    const wire::FieldRow* row;

    /// The entries that count, in the order in which the field first has their names.
    struct Entries {
        model::NameTable names{model::NameTable::Text::copied};
        std::vector<onnx::Message> counting;  // by position in `names`
        std::optional<std::string> repeated;  // the first name that occurs twice
    };
    Remade<Entries> entries = {};

    /// Notes a look-up, and returns whether it is one of the first few in this state of the
    /// document. More are worth reading all entries. Threads may disturb the count.
    [[nodiscard]] bool is_one_of_few() const {
        const std::uint64_t count = document->edits().count();
        if (asked_at.exchange(count) != count) asked = 0;
        return ++asked <= kFew;
    }

    static constexpr std::uint32_t kFew = 8;
    mutable std::atomic<std::uint32_t> asked = 0;     // so many look-ups
    mutable std::atomic<std::uint64_t> asked_at = 0;  // when there were so many edits
    // One more than the edits when somebody was warned of a repeated name.
    mutable std::atomic<std::uint64_t> warned_at = 0;
};

template <onnx::detail::Name class_name>
struct MappingObject : FieldMapping {
    static constexpr auto kClassName = py::detail::const_name(class_name.chars);
    using FieldMapping::FieldMapping;
};
using AttributeMapping = MappingObject<"AttributeMapping">;
using OpsetMapping = MappingObject<"OpsetMapping">;
using StringMapping = MappingObject<"StringMapping">;

/// The mapping of a field of attributes, operator sets or strings; null for other fields.
[[nodiscard]] py::object mapping_of(const Handle& message, const wire::FieldRow& row);

/// A new dict of a mapping, or of pairs of names and values.
[[nodiscard]] py::dict new_dict(const py::object& items);

/// Replaces all entries of such a field by those of another mapping, or by pairs of names and
/// values. Throws TypeError for a name or value of a wrong type.
void set_entries(const Handle& message, const wire::FieldRow& row, const py::object& items);

/// The entries that count. Warns of a repeated name.
[[nodiscard]] std::shared_ptr<const FieldMapping::Entries> entries_of(const FieldMapping& self);

/// The value of a name, or null. Warns of a repeated name.
[[nodiscard]] py::object find_value(const FieldMapping& self, const py::object& name);

/// The value of a name. Warns of a repeated name. Throws KeyError.
[[nodiscard]] py::object item_of(const FieldMapping& self, const py::object& name);

/// The value of an entry of the mapping.
[[nodiscard]] py::object value_of(const FieldMapping& self, const onnx::Message& entry);

/// Whether an entry has this name.
[[nodiscard]] bool has_name(const FieldMapping& self, const py::object& name);

/// How many different names the entries have.
[[nodiscard]] std::uint64_t count_names(const FieldMapping& self);

/// The names, in the order in which the field first has them.
[[nodiscard]] py::list names_of(const FieldMapping& self);

/// Gives the entry of a name another value, or adds one.
void set_item(const FieldMapping& self, const py::object& name, const py::object& value);

/// Removes all entries of a name. Throws KeyError.
void remove_item(const FieldMapping& self, const py::object& name);

}  // namespace onnxmap::bindings
