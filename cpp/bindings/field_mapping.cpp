#include "bindings/field_mapping.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/editing.hpp"
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

// The positions of all entries of a name, in either spelling, ascending.
std::vector<std::uint64_t> positions_of(const FieldMapping& self, const model::FieldIndex& fields,
                                        std::string_view name) {
    const auto entries = model::named_entries(*self.document, fields, *self.row);
    std::vector<std::uint64_t> positions = entries.positions(name);
    if (const auto other = model::other_spelling(*self.row, name)) {
        std::ranges::copy(entries.positions(*other), std::back_inserter(positions));
        std::ranges::sort(positions);
    }
    return positions;
}

// Calls work(entry) for each entry of a name, in order.
template <class Work>
void for_each_named(const FieldMapping& self, std::string_view name, Work&& work) {
    const onnx::Message message = self.message();
    if (self.document->is_followed(message)) {
        const auto fields = self.document->index(message);
        for (const std::uint64_t each : positions_of(self, *fields, name)) {
            work(message.inner(*self.row, fields->at(*self.row, each)));
        }
        return;
    }
    const wire::FieldRow& names = model::name_of_entries(*self.row);
    const auto other = model::other_spelling(*self.row, name);
    message.for_each_value(*self.row, [&](const wire::Field& value) {
        onnx::Message entry = message.inner(*self.row, value);
        const std::string_view spelled = entry.text(names);
        if (spelled == name || spelled == other) work(std::move(entry));
    });
}

struct Found {
    std::optional<onnx::Message> entry;  // the one that counts
    bool is_repeated = false;
};

Found find_entry(const FieldMapping& self, const py::object& key) {
    const auto name = name_in_file(key);
    if (!name) return {};
    auto known = self.entries.known(self.document->edits().count());
    if (!known && !self.is_one_of_few() && !self.document->is_followed(self.message())) {
        known = entries_of(self);
    }
    if (known) {
        const auto other = model::other_spelling(*self.row, *name);
        auto position = known->names.find(*name);
        if (!position && other) position = known->names.find(*other);
        return position ? Found{known->counting[*position]} : Found{};
    }
    Found found;
    for_each_named(self, *name, [&](onnx::Message entry) {
        found.is_repeated = found.entry.has_value();
        if (!found.entry || model::counts_after(entry, *found.entry)) {
            found.entry = std::move(entry);
        }
    });
    return found;
}

// The positions of all entries of a name, ascending.
std::vector<std::uint64_t> positions_in(const FieldMapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    if (!text) return {};
    return below_guard(
        self, [&] { return positions_of(self, *self.document->index(self.message()), *text); });
}

std::vector<Handle> handles_at(const FieldMapping& self, std::span<const std::uint64_t> positions) {
    return below_guard(self, [&] {
        const onnx::Message message = self.message();
        const auto fields = self.document->index(message);
        std::vector<Handle> handles;
        for (const std::uint64_t each : positions) {
            handles.push_back(
                {self.document, message.inner(*self.row, fields->at(*self.row, each))});
        }
        return handles;
    });
}

// A new entry. An attribute has its name already.
Handle new_entry(const FieldMapping& self, const py::str& name, const py::object& value) {
    const wire::FieldRow* const field = model::value_of_entries(*self.row);
    if (field == nullptr) return original_for(self, self.row->type_name, value, true);
    if (value.is_none()) {
        throw py::type_error("the value of " + to_printable(py::repr(name)) +
                             " cannot be None; `del` removes an entry");
    }
    if (model::entry_kind(*self.row) == model::EntryKind::string &&
        !py::isinstance<py::str>(value)) {
        throw py::type_error("the value of " + to_printable(py::repr(name)) +
                             " must be a str, not " + type_name(value));
    }
    const Handle entry = new_message(onnx::kSchema.message_of(*self.row));
    assign(entry, model::name_of_entries(*self.row), name);
    assign(entry, *field, value);
    return entry;
}

// Gives all operator sets of a domain another version, in one step.
void set_versions(const FieldMapping& self, std::span<const std::uint64_t> positions,
                  const py::object& version) {
    std::vector<NewElement> changed;
    for (const Handle& each : handles_at(self, positions)) {
        const Handle entry = new_message(each.made.table());
        copy(entry, each);
        assign(entry, *model::value_of_entries(*self.row), version);
        changed.push_back({positions[changed.size()], entry});
    }
    splice(self, *self.row, changed, positions);
}

// The entries that a field is set to.
py::dict given_entries(const wire::FieldRow& row, const py::object& items) {
    try {
        return new_dict(items);
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
        const auto kind = model::entry_kind(row);
        const char* const example = kind == model::EntryKind::operator_set ? "{'': 21}"
                                    : kind == model::EntryKind::attribute  ? "{'axis': 1}"
                                                                           : "{'key': 'value'}";
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

py::dict new_dict(const py::object& items) {
    return owned<py::dict>(
        PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), items.ptr()));
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
            new_entry(self, checked_name(key), py::reinterpret_borrow<py::object>(value)));
    }
    replace_all(self, *self.row, entries);
}

std::shared_ptr<const FieldMapping::Entries> entries_of(const FieldMapping& self) {
    return self.entries.get(*self.document, [&] {
        const auto made = std::make_shared<FieldMapping::Entries>();
        const onnx::Message message = self.message();
        const wire::FieldRow& names = model::name_of_entries(*self.row);
        message.for_each_value(*self.row, [&](const wire::Field& value) {
            onnx::Message entry = message.inner(*self.row, value);
            const std::string_view name = entry.text(names);
            const auto other = model::other_spelling(*self.row, name);
            const auto known = other ? made->names.find(*other) : std::nullopt;
            const auto [position, is_new] =
                known ? model::NameTable::Added{*known, false} : made->names.add(name);
            if (is_new) {
                made->counting.push_back(std::move(entry));
                return;
            }
            if (!made->repeated) made->repeated = name;
            onnx::Message& before = made->counting[position];
            if (model::counts_after(entry, before)) before = std::move(entry);
        });
        warn_of_repeated(self, made->repeated);
        return made;
    });
}

py::object find_value(const FieldMapping& self, const py::object& name) {
    const Found found = find_entry(self, name);
    if (!found.entry) return {};
    if (found.is_repeated) warn_of_repeated(self, name_in_file(name));
    return value_of(self, *found.entry);
}

py::object item_of(const FieldMapping& self, const py::object& name) {
    py::object found = find_value(self, name);
    if (!found) fail_no_key(self, name);
    return found;
}

py::object value_of(const FieldMapping& self, const onnx::Message& entry) {
    const Handle handle{self.document, entry};
    const wire::FieldRow* const value = model::value_of_entries(*self.row);
    return value == nullptr ? wrap_message(handle) : property_value(handle, *value);
}

bool has_name(const FieldMapping& self, const py::object& name) {
    return find_entry(self, name).entry.has_value();
}

std::uint64_t count_names(const FieldMapping& self) {
    const onnx::Message message = self.message();
    const bool are_spelled = model::other_spelling(*self.row, "").has_value();
    if (are_spelled || !self.document->is_followed(message)) return entries_of(self)->names.size();
    const auto fields = self.document->index(message);
    return model::named_entries(*self.document, *fields, *self.row).names();
}

py::list names_of(const FieldMapping& self) { return to_list(entries_of(self)->names.names()); }

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
    const Handle made = new_entry(self, name, value);
    const wire::FieldRow* const field = model::value_of_entries(*self.row);
    if (model::entry_kind(*self.row) == model::EntryKind::operator_set) {
        warn_of_relabeling(self, name, property_value(made, *field));
    }
    // The conversion of a value, or a warning, may run any Python code: only now are the positions
    // those of it.
    const auto positions = positions_in(self, name);
    if (positions.empty()) {
        splice(self, *self.row, std::vector<NewElement>{{kAtEnd, made}});
        return;
    }
    const Handle last = handles_at(self, std::span(positions).last(1)).front();
    if (field == nullptr) {
        copy(last, made);
    } else if (model::entry_kind(*self.row) == model::EntryKind::operator_set) {
        set_versions(self, positions, property_value(made, *field));
    } else {
        assign(last, *field, value);
    }
}

void remove_item(const FieldMapping& self, const py::object& name) {
    const auto positions = positions_in(self, name);
    if (positions.empty()) fail_no_key(self, name);
    splice(self, *self.row, {}, positions);
}

}  // namespace onnxmap::bindings
