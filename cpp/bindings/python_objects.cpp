#include "bindings/python_objects.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/package_seam.hpp"
#include "bindings/value_types.hpp"
#include "model/value_type.hpp"

namespace onnxmap::bindings {

namespace {

// The members of DataType by number. All numbers up to the last have one.
const std::vector<py::object>& data_type_members() {
    using Members = std::vector<py::object>;
    constinit static std::atomic<const Members*> made = nullptr;
    return made_once(made, [] {
        const py::object data_type = enum_class("DataType");
        Members members{data_type(0)};
        for (const onnx::DataTypeInfo& info : onnx::data_types()) {
            members.push_back(data_type(static_cast<int>(info.type)));
        }
        return std::make_unique<const Members>(std::move(members));
    });
}

std::string encoded(const py::str& text, const char* surrogates) {
    return std::string(
        owned<py::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", surrogates)));
}

// By position in the schema. Only the import of the module writes to it.
constinit std::array<Wrap, onnx::detail::kMessageCount> wrappers{};

}  // namespace

py::object import_module(const char* name) { return package::import_module(name); }

py::str to_str(std::string_view text) {
    return owned<py::str>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

std::string to_text(const py::str& text) { return encoded(text, "surrogateescape"); }

std::optional<std::string> name_in_file(const py::object& name) {
    if (!py::isinstance<py::str>(name)) return std::nullopt;
    try {
        return to_text(name);
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_UnicodeEncodeError)) throw;
        return std::nullopt;
    }
}

std::string type_name(const py::handle& object) {
    return to_printable(py::type::handle_of(object).attr("__name__"));
}

py::ssize_t to_index(const py::handle& number, PyObject* overflow) {
    const py::ssize_t index = PyNumber_AsSsize_t(number.ptr(), overflow);
    if (index == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return index;
}

std::string to_printable(const py::str& text) { return encoded(text, "backslashreplace"); }

py::bytes to_bytes(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::list to_list(std::span<const std::string_view> texts) {
    py::list list(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        PyList_SET_ITEM(list.ptr(), static_cast<py::ssize_t>(i), to_str(texts[i]).release().ptr());
    }
    return list;
}

py::tuple to_tuple(std::span<const std::int64_t> dims) {
    py::tuple shape(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
        PyObject* dim = PyLong_FromLongLong(dims[i]);
        if (dim == nullptr) throw py::error_already_set();
        PyTuple_SET_ITEM(shape.ptr(), static_cast<py::ssize_t>(i), dim);
    }
    return shape;
}

py::object enum_class(const char* name) { return package::enums()[name]; }

py::object data_type_or_int(std::int32_t number) {
    const auto& members = data_type_members();
    if (number < 0 || static_cast<std::size_t>(number) >= members.size()) return py::int_(number);
    return members[static_cast<std::size_t>(number)];
}

Wrap& wrapper_of(std::string_view message) {
    const auto* const table = onnx::find_message(message);
    return wrappers.at(static_cast<std::size_t>(table - onnx::kSchema.messages.data()));
}

py::object wrap_message(Handle handle, bool as_proto) {
    const auto position = &handle.made.table() - onnx::kSchema.messages.data();
    const Wrap wrap = as_proto ? nullptr : wrappers.at(static_cast<std::size_t>(position));
    return wrap != nullptr ? wrap(std::move(handle)) : make_object<ProtoView>(std::move(handle));
}

std::string class_name(std::string_view message) {
    if (message == "TensorAnnotation") return "QuantizationAnnotation";
    if (wrapper_of(message) != nullptr) message.remove_suffix(std::string_view("Proto").size());
    return std::string(message);
}

}  // namespace onnxmap::bindings
