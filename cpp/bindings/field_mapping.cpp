#include "bindings/field_mapping.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "model/entry_rules.hpp"

namespace onnxmap::bindings {

namespace {

// Once in each state of the document. A warning may raise.
void warn_of_repeated(const FieldMapping& self, std::optional<std::string_view> name) {
    if (!name || model::entry_kind(*self.row) == model::EntryKind::operator_set) return;
    const std::uint64_t now = self.document->edits().count() + 1;
    if (self.warned_at == now) return;
    const std::string place(self.row->name);
    package::warn()("RepeatedKeyWarning",
                    place + ": " + to_printable(py::repr(to_str(*name))) +
                        " occurs more than once; the last one counts, and .proto." + place +
                        " has all");
    self.warned_at = now;
}

// A new entry. An attribute has its name already.
edit::NewEntry new_entry(const FieldMapping& self, const py::str& name, const py::object& value) {
    const wire::FieldRow* const field = model::value_of_entries(*self.row);
    if (field == nullptr) {
        return {original_for(self, self.row->type_name, value, true), std::nullopt};
    }
    if (value.is_none()) {
        throw py::type_error("the value of " + to_printable(py::repr(name)) +
                             " cannot be None; `del` removes an entry");
    }
    if (self.kind() == model::EntryKind::string && !py::isinstance<py::str>(value)) {
        throw py::type_error("the value of " + to_printable(py::repr(name)) +
                             " must be a str, not " + type_name(value));
    }
    const Handle made = new_message(onnx::kSchema.message_of(*self.row));
    const model::NewValue encoded = encode(*field, value);
    assign(made, model::name_of_entries(*self.row), name);
    edit::change_message(made, model::set_value, *field, encoded);
    return {made, encoded};
}

// The entries that a field is set to.
py::dict given_entries(const wire::FieldRow& row, const py::object& items) {
    try {
        return owned<py::dict>(
            PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), items.ptr()));
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
        const bool are_versions = model::entry_kind(row) == model::EntryKind::operator_set;
        const char* const example = are_versions ? "{'': 21}" : "{'key': 'value'}";
        const std::string text = std::string(row.name) + ": expected a mapping, such as " +
                                 example + ", not " +
                                 (items.is_none() ? "None; {} removes all" : type_name(items));
        py::raise_from(error, PyExc_TypeError, text.c_str());
        throw py::error_already_set();
    }
}

py::str checked_name(const py::handle& key) {
    if (!py::isinstance<py::str>(key)) {
        throw py::type_error("a key is a str, not " + type_name(key));
    }
    return py::reinterpret_borrow<py::str>(key);
}

[[noreturn]] void fail_no_key(const FieldMapping& self, const py::object& key) {
    if (py::isinstance<py::str>(key)) {
        const auto kind = *model::entry_kind(*self.row);
        const char* const what = kind == model::EntryKind::attribute      ? "attribute"
                                 : kind == model::EntryKind::operator_set ? "domain"
                                                                          : "key";
        const py::list names = below_guard(self, [&] { return names_of(self); });
        throw_python(package::wrong_name()("key", what, key, names));
    }
    // A bare tuple would become the arguments of the error.
    PyErr_SetObject(PyExc_KeyError, py::make_tuple(key).ptr());
    throw py::error_already_set();
}

}  // namespace

py::object mapping_of(const Handle& message, const wire::FieldRow& row) {
    const auto kind = model::entry_kind(row);
    if (!kind) return {};
    switch (*kind) {
        case model::EntryKind::attribute: return make_object<AttributeMapping>(message, row);
        case model::EntryKind::operator_set: return make_object<OpsetMapping>(message, row);
        case model::EntryKind::string: break;
    }
    return make_object<StringMapping>(message, row);
}

void set_entries(const Handle& message, const wire::FieldRow& row, const py::object& items) {
    const FieldMapping self(message, row);
    std::vector<Handle> entries;
    const py::dict given = given_entries(row, items);
    if (const auto other = model::other_spelling(row, "")) {
        if (given.contains("") && given.contains(to_str(*other))) {
            throw py::value_error("'' and 'ai.onnx' are one domain: give it one version");
        }
    }
    for (const auto& [key, value] : given) {
        entries.push_back(
            new_entry(self, checked_name(key), py::reinterpret_borrow<py::object>(value)).made);
    }
    replace_all(self, *self.row, entries);
}

py::object find_value(const FieldMapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    if (!text) return {};
    const auto found = self.find(*text);
    warn_of_repeated(self, found.repeated);
    if (!found.entry) return {};
    const Handle entry{self.document, *found.entry};
    const wire::FieldRow* const value = model::value_of_entries(*self.row);
    return value == nullptr ? wrap_message(entry) : property_value(entry, *value);
}

py::object item_of(const FieldMapping& self, const py::object& name) {
    py::object found = find_value(self, name);
    if (!found) fail_no_key(self, name);
    return found;
}

bool has_name(const FieldMapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    return text && self.find(*text).entry;
}

std::uint64_t count_names(const FieldMapping& self) { return self.count(); }

py::list names_of(const FieldMapping& self) {
    const auto entries = self.by_name();
    warn_of_repeated(self, entries->repeated);
    return to_list(entries->names.names());
}

namespace {

// The nodes keep the meaning that they had in the other version.
void warn_of_relabeling(const FieldMapping& self, const py::str& domain,
                        const py::object& version) {
    const auto before = below_guard(self, [&] { return find_value(self, domain); });
    if (!before || before.equal(version)) return;
    const std::string text = "version " + std::string(py::str(before)) + " of the operator set " +
                             to_printable(py::repr(domain)) + " is now " +
                             std::string(py::str(version)) +
                             ", but the nodes are not converted; onnx.version_converter does that";
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw py::error_already_set();
}

}  // namespace

void set_item(const FieldMapping& self, const py::object& key, const py::object& value) {
    const py::str name = checked_name(key);
    // The conversion of a value, or a warning, may run any Python code: the edit comes after it.
    const edit::NewEntry entry = new_entry(self, name, value);
    if (self.kind() == model::EntryKind::operator_set) {
        warn_of_relabeling(self, name,
                           property_value(entry.made, *model::value_of_entries(*self.row)));
    }
    self.set(to_text(name), entry);
}

void remove_item(const FieldMapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    if (!text || !self.remove(*text)) fail_no_key(self, name);
}

}  // namespace onnxmap::bindings
