// The entries of a repeated field by name, for Python: attributes, metadata, operator sets. A
// mapping always shows the field as it is now, and to change it changes the field.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "bindings/handles.hpp"
#include "edit/named_entries.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The mapping, and whether somebody was warned of it.
struct FieldMapping : edit::NamedEntries {
    using NamedEntries::NamedEntries;
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

/// Replaces all entries of such a field by those of another mapping, or by pairs of names and
/// values. Throws TypeError for a name or value of a wrong type.
void set_entries(const Handle& message, const wire::FieldRow& row, const py::object& items);

/// The value of a name, or null. Warns of a repeated name.
[[nodiscard]] py::object find_value(const FieldMapping& self, const py::object& name);

/// The value of a name. Warns of a repeated name. Throws KeyError.
[[nodiscard]] py::object item_of(const FieldMapping& self, const py::object& name);

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
