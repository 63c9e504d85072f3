#include "bindings/editing.hpp"

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bindings/field_encoding.hpp"
#include "bindings/load_options.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_buffer.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_list.hpp"
#include "model/load.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::bindings {

namespace {

DocumentPtr document_of(const wire::MessageTable& table, std::shared_ptr<source::Source> source) {
    model::LoadOptions options;
    options.root = &table;
    return model::load_source(std::move(source), options, false);
}

// The handle of a bound message, or of what has a `proto`, such as a Graph; nothing for other
// objects.
std::optional<Handle> bound_message(const py::handle& object) {
    if (py::isinstance<ProtoView>(object)) return object.cast<const ProtoView&>();
    const auto proto =
        py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), "proto"));
    if (!proto) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw py::error_already_set();
        PyErr_Clear();
        return std::nullopt;
    }
    if (!py::isinstance<ProtoView>(proto)) return std::nullopt;
    return proto.cast<const ProtoView&>();
}

// A message of the protobuf library of this type, or nothing.
std::optional<Handle> library_message(std::string_view type_name, const py::handle& object) {
    if (!py::hasattr(object, "SerializeToString") || !py::hasattr(object, "DESCRIPTOR")) {
        return std::nullopt;
    }
    const py::object name = py::getattr(object.attr("DESCRIPTOR"), "name", py::none());
    const std::string_view last = type_name.substr(type_name.rfind('.') + 1);
    if (!name.equal(to_str(last))) return std::nullopt;
    const DocumentPtr document =
        document_of(*onnx::find_message(type_name),
                    std::make_shared<PythonBuffer>(object.attr("SerializeToString")()));
    return Handle{document, document->root()};
}

template <class List>
bool is_own(const Handle& handle, const wire::FieldRow& row, const List& list) {
    return list.row == &row && list.document == handle.document &&
           list.parent.message().is(handle.message());
}

}  // namespace

Handle new_message(const wire::MessageTable& table) {
    const DocumentPtr document = document_of(table, std::make_shared<source::OwnedBytes>(0));
    return {document, document->root()};
}

bool is_list_of(const Handle& handle, const wire::FieldRow& row, const py::handle& object) {
    if (!row.repeated()) return false;
    if (py::isinstance<MessageList>(object)) {
        return is_own(handle, row, object.cast<const MessageList&>());
    }
    return py::isinstance<ValueList>(object) &&
           is_own(handle, row, object.cast<const ValueList&>());
}

onnx::Message to_change(const Handle& handle) {
    const model::Document& document = *handle.document;
    if (!handle.absent) {
        onnx::Message message = handle.message();
        model::check_editable(document, message);
        return message;
    }
    const AbsentMessage& place = *handle.absent;
    const onnx::Message parent = to_change(place.parent);
    if (document.edits().vacated(parent, *place.row) != place.vacated) {
        model::fail_removed(handle.made);
    }
    return model::make_present(document, parent, *place.row);
}

void check_in_place(bool as_proto) {
    if (as_proto)
        throw py::type_error("a list of a `.proto` has no +=, as in protobuf; use extend()");
}

void assign(const Handle& handle, const wire::FieldRow& row, const py::handle& value) {
    if (row.repeated() || row.is_message()) {
        throw py::attribute_error("cannot assign to " + std::string(row.name) +
                                  (row.repeated()
                                       ? ", a repeated field: change its list"
                                       : ", a message: change its fields, or CopyFrom()"));
    }
    const model::NewValue encoded = encode(row, value);
    model::set_value(*handle.document, to_change(handle), row, encoded);
}

Handle message_for(std::string_view type_name, const py::handle& object) {
    auto found = bound_message(object);
    if (!found) found = library_message(type_name, object);
    if (!found || found->message().table().name != type_name) {
        const std::string given =
            found ? std::string(found->message().table().name) : Py_TYPE(object.ptr())->tp_name;
        const bool is_vowel = type_name.find_first_of("AEIO") == 0;
        throw py::type_error("expected a" + std::string(is_vowel ? "n " : " ") +
                             std::string(type_name) + ", not " + given);
    }
    return *std::move(found);
}

Handle element_for(const wire::FieldRow& row, const py::handle& object) {
    if (!py::isinstance<py::dict>(object)) return message_for(row.type_name, object);
    Handle made = new_message(onnx::kSchema.message_of(row));
    set_fields(made, py::reinterpret_borrow<py::dict>(object));
    return made;
}

void set_fields(const Handle& handle, const py::dict& fields) {
    for (const auto& [key, value] : fields) {
        const std::string name = to_printable(py::str(key));
        const wire::MessageTable& table = handle.message().table();
        const wire::FieldRow* row = table.find(name);
        if (row == nullptr) {
            const py::object error = package::missing_field()(to_str(table.name), to_str(name));
            throw py::value_error(to_printable(py::str(error)));
        }
        if (value.is_none()) continue;
        if (!row->repeated() && !row->is_message()) {
            assign(handle, *row, value);
        } else if (!row->repeated()) {
            const Handle child = element_for(*row, value);
            model::clear(*handle.document, to_change(handle), *row);
            const onnx::Message place =
                model::make_present(*handle.document, to_change(handle), *row);
            model::merge_from(*handle.document, place, {*child.document, child.message()});
        } else if (row->is_message()) {
            std::vector<Handle> elements;
            for (const py::handle each : value) elements.push_back(element_for(*row, each));
            replace_all(handle, *row, elements);
        } else {
            const auto values = encode_all(*row, value);
            model::set_values(*handle.document, to_change(handle), *row, values);
        }
    }
}

onnx::Message insert_copy(const Handle& parent, const wire::FieldRow& row, std::uint64_t i,
                          const Handle& original) {
    return model::insert(*parent.document, to_change(parent), row, i,
                         model::Original{*original.document, original.message()});
}

void replace_all(const Handle& parent, const wire::FieldRow& row, std::span<const Handle> others) {
    const std::uint64_t before = parent.document->index(to_change(parent))->count(row);
    for (const Handle& each : others) insert_copy(parent, row, UINT64_MAX, each);
    std::vector<std::uint64_t> gone(before);
    std::iota(gone.begin(), gone.end(), 0);
    if (before > 0) model::erase(*parent.document, to_change(parent), row, gone);
}

void merge(const Handle& handle, const Handle& original) {
    const onnx::Message from = original.message();
    model::merge_from(*handle.document, to_change(handle), {*original.document, from});
}

}  // namespace onnxmap::bindings
