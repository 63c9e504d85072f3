#include "bindings/field_mapping.hpp"

#include <memory>
#include <span>
#include <utility>

#include "bindings/editing.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "model/entries.hpp"

namespace onnxmap::bindings {

namespace {

bool warns_of_repeated(const FieldMapping& self) {
    return model::entry_kind(*self.row) != model::EntryKind::operator_set;
}

// Calls work(entry) for each entry of a name, in order.
template <class Work>
void for_each_named(const FieldMapping& self, std::string_view name, Work&& work) {
    const onnx::Message message = self.message();
    if (self.document->is_followed(message)) {
        const auto fields = self.document->index(message);
        const auto list = model::named_entries(*self.document, *fields, *self.row);
        for (const std::uint64_t each : list.positions(name)) {
            work(message.inner(*self.row, fields->at(*self.row, each)));
        }
        return;
    }
    const wire::FieldRow& names = model::name_of_entries(*self.row);
    message.for_each_value(*self.row, [&](const wire::Field& value) {
        onnx::Message entry = message.inner(*self.row, value);
        if (entry.text(names) == name) work(std::move(entry));
    });
}

// The entry of a name that counts.
std::optional<onnx::Message> find_entry(const FieldMapping& self, const py::object& key) {
    const auto name = name_in_file(key);
    if (!name) return std::nullopt;
    auto known = self.entries.known(*self.document);
    if (!known && !self.walks() && !self.document->is_followed(self.message())) {
        known = entries_of(self);
    }
    if (known) {
        const auto position = known->names.find(*name);
        return position ? std::optional(known->counting[*position]) : std::nullopt;
    }
    std::optional<onnx::Message> found;
    bool is_repeated = false;
    for_each_named(self, *name, [&](onnx::Message entry) {
        is_repeated = found.has_value();
        if (!found || model::counts_after(entry, *found)) found = std::move(entry);
    });
    if (is_repeated && warns_of_repeated(self)) warn_if_repeated(*name, self.row->name);
    return found;
}

// The positions of all entries of a name, ascending.
std::vector<std::uint64_t> positions_in(const FieldMapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    if (!text) return {};
    return below_guard(self, [&] {
        const auto fields = self.document->index(self.message());
        return model::named_entries(*self.document, *fields, *self.row).positions(*text);
    });
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

Handle attribute_of(const FieldMapping& self, const py::str& name, const py::object& value,
                    const py::object& like) {
    return message_for(self.row->type_name,
                       package::attribute_of()(name, value, ProtoView{self}, like));
}

// Sets the field of an entry that is its value.
void set_value(const FieldMapping& self, const Handle& entry, const py::str& name,
               const py::object& value) {
    if (model::entry_kind(*self.row) == model::EntryKind::string &&
        !py::isinstance<py::str>(value)) {
        throw py::type_error("the value of " + to_printable(py::repr(name)) +
                             " must be a str, not " + Py_TYPE(value.ptr())->tp_name);
    }
    assign(entry, *model::value_of_entries(*self.row), value);
}

Handle new_entry(const FieldMapping& self, const py::str& name, const py::object& value) {
    if (model::value_of_entries(*self.row) == nullptr) {
        return attribute_of(self, name, value, py::none());
    }
    const Handle entry = new_message(onnx::kSchema.message_of(*self.row));
    assign(entry, model::name_of_entries(*self.row), name);
    set_value(self, entry, name, value);
    return entry;
}

// Gives all operator sets of a domain another version, in one step.
void set_versions(const FieldMapping& self, std::span<const std::uint64_t> positions,
                  const py::str& name, const py::object& value) {
    std::vector<NewElement> changed;
    for (const Handle& each : handles_at(self, positions)) {
        const Handle entry = new_message(each.made.table());
        copy(entry, each);
        set_value(self, entry, name, value);
        changed.push_back({positions[changed.size()], entry});
    }
    splice(self, *self.row, changed, positions);
}

py::str checked_name(const py::handle& key) {
    if (!py::isinstance<py::str>(key)) {
        throw py::type_error(std::string("a key is a str, not ") + Py_TYPE(key.ptr())->tp_name);
    }
    return py::reinterpret_borrow<py::str>(key);
}

const FieldMapping& any_mapping(const py::object& object) {
    if (is_a<AttributeMapping>(object)) return cpp_value<AttributeMapping>(object);
    if (is_a<OpsetMapping>(object)) return cpp_value<OpsetMapping>(object);
    return checked_value<StringMapping>(object);
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

void set_entries(const py::object& mapping, const py::object& items) {
    const py::dict given(items);
    if (given.equal(mapping)) return;  // `node.metadata_props |= {...}` assigns what it has changed
    const FieldMapping& self = any_mapping(mapping);
    std::vector<Handle> entries;
    for (const auto& [key, value] : given) {
        entries.push_back(
            new_entry(self, checked_name(key), py::reinterpret_borrow<py::object>(value)));
    }
    replace_all(self, *self.row, entries);
}

std::shared_ptr<const FieldMapping::Entries> entries_of(const FieldMapping& self) {
    std::optional<std::string> repeated;
    auto found = self.entries.get(*self.document, [&] {
        const auto made = std::make_shared<FieldMapping::Entries>();
        const onnx::Message message = self.message();
        const wire::FieldRow& names = model::name_of_entries(*self.row);
        message.for_each_value(*self.row, [&](const wire::Field& value) {
            onnx::Message entry = message.inner(*self.row, value);
            const std::string_view name = entry.text(names);
            const auto [position, is_new] = made->names.add(name);
            if (is_new) {
                made->counting.push_back(std::move(entry));
                return;
            }
            if (!made->repeated) made->repeated = name;
            onnx::Message& before = made->counting[position];
            if (model::counts_after(entry, before)) before = std::move(entry);
        });
        repeated = made->repeated;
        return made;
    });
    if (warns_of_repeated(self)) warn_if_repeated(repeated, self.row->name);
    return found;
}

py::object find_value(const FieldMapping& self, const py::object& name) {
    const auto found = find_entry(self, name);
    return found ? value_of(self, *found) : py::object();
}

py::object value_of(const FieldMapping& self, const onnx::Message& entry) {
    const Handle handle{self.document, entry};
    const wire::FieldRow* const value = model::value_of_entries(*self.row);
    return value == nullptr ? wrap_message(handle) : friendly_value(handle, *value);
}

bool has_entry(const FieldMapping& self, const py::object& name) {
    return find_entry(self, name).has_value();
}

std::uint64_t count_names(const FieldMapping& self) {
    const onnx::Message message = self.message();
    if (!self.document->is_followed(message)) return entries_of(self)->names.size();
    const auto fields = self.document->index(message);
    return model::named_entries(*self.document, *fields, *self.row).names();
}

void set_entry(const FieldMapping& self, const py::object& key, const py::object& value) {
    const py::str name = checked_name(key);
    const auto positions = positions_in(self, name);
    if (positions.empty()) {
        const Handle made = new_entry(self, name, value);
        const std::uint64_t count = below_guard(
            self, [&] { return self.document->index(self.message())->count(*self.row); });
        splice(self, *self.row, std::vector<NewElement>{{count, made}});
        return;
    }
    if (model::entry_kind(*self.row) == model::EntryKind::operator_set) {
        set_versions(self, positions, name, value);
        return;
    }
    const Handle entry = handles_at(self, std::span(positions).last(1)).front();
    if (model::value_of_entries(*self.row) != nullptr) {
        set_value(self, entry, name, value);
    } else {
        copy(entry, attribute_of(self, name, value, py::cast(ProtoView{entry})));
    }
}

bool remove_entries(const FieldMapping& self, const py::object& name) {
    const auto positions = positions_in(self, name);
    if (positions.empty()) return false;
    splice(self, *self.row, {}, positions);
    return true;
}

}  // namespace onnxmap::bindings
