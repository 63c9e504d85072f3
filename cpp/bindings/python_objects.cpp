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

py::object data_type_class() { return package::data_type(); }

// The members of DataType by number; None for a number without a member.
const std::vector<py::object>& data_type_members() {
    using Members = std::vector<py::object>;
    constinit static std::atomic<const Members*> made = nullptr;
    return made_once(made, [] {
        Members members{data_type_class()(0)};
        for (const onnx::DataTypeInfo& info : onnx::data_types()) {
            members.push_back(data_type_class()(static_cast<int>(info.type)));
        }
        return std::make_unique<const Members>(std::move(members));
    });
}

std::string encoded(const py::str& text, const char* surrogates) {
    PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", surrogates);
    if (bytes == nullptr) throw py::error_already_set();
    return std::string(py::reinterpret_steal<py::bytes>(bytes));
}

template <class Class>
py::object wrap_as(Handle&& handle) {
    return make_object<Class>(std::move(handle));
}

py::object wrap_graph(Handle&& handle) {
    return package::graph()(make_object<Graph>(std::move(handle)));
}

py::object wrap_type(Handle&& handle) {
    const auto type = model::value_type(handle.message(), handle.document->limits().depth);
    return type ? type_object(*type) : py::none();
}

using Wrap = py::object (*)(Handle&&);

// By position in the schema. Null if the message has no class of its own.
constexpr auto kWrappers = [] {
    std::array<Wrap, onnx::detail::kMessageCount> wrappers{};
    const auto set = [&](std::string_view message, Wrap wrap) {
        for (std::size_t i = 0; i < wrappers.size(); ++i) {
            if (onnx::kSchema.messages[i].name == message) wrappers.at(i) = wrap;
        }
    };
    set("AttributeProto", wrap_as<Attribute>);
    set("DeviceConfigurationProto", wrap_as<DeviceConfiguration>);
    set("FunctionProto", wrap_as<Function>);
    set("GraphProto", wrap_graph);
    set("IntIntListEntryProto", wrap_as<IntIntListEntry>);
    set("NodeDeviceConfigurationProto", wrap_as<NodeDeviceConfiguration>);
    set("NodeProto", wrap_as<Node>);
    set("OperatorProto", wrap_as<Operator>);
    set("ShardedDimProto", wrap_as<ShardedDim>);
    set("ShardingSpecProto", wrap_as<ShardingSpec>);
    set("SimpleShardedDimProto", wrap_as<SimpleShardedDim>);
    set("SparseTensorProto", wrap_as<SparseTensor>);
    set("TensorAnnotation", wrap_as<QuantizationAnnotation>);
    set("TensorProto", wrap_as<Tensor>);
    set("TrainingInfoProto", wrap_as<TrainingInfo>);
    set("TypeProto", wrap_type);
    set("ValueInfoProto", wrap_as<ValueInfo>);
    return wrappers;
}();

}  // namespace

py::str to_str(std::string_view text) {
    PyObject* str =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (str == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(str);
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

std::string to_printable(const py::str& text) { return encoded(text, "backslashreplace"); }

py::bytes to_bytes(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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

py::object data_type_or_none(std::int32_t number) {
    const auto& members = data_type_members();
    if (number < 0 || static_cast<std::size_t>(number) >= members.size()) return py::none();
    return members[static_cast<std::size_t>(number)];
}

py::object data_type_or_int(std::int32_t number) {
    py::object member = data_type_or_none(number);
    return member.is_none() ? py::object(py::int_(number)) : member;
}

py::object wrap_message(Handle handle) {
    const auto position =
        static_cast<std::size_t>(&handle.made.table() - onnx::kSchema.messages.data());
    if (kWrappers[position] != nullptr) return kWrappers[position](std::move(handle));
    return make_object<ProtoView>(std::move(handle));
}

std::string class_name(std::string_view message) {
    if (message == "TensorAnnotation") return "QuantizationAnnotation";
    const auto position =
        static_cast<std::size_t>(onnx::find_message(message) - onnx::kSchema.messages.data());
    if (kWrappers.at(position) != nullptr) message.remove_suffix(std::string_view("Proto").size());
    return std::string(message);
}

}  // namespace onnxmap::bindings
