#include "bindings/python_objects.hpp"
#include "bindings/package_seam.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace onnxmap::bindings {

using onnx::field;

namespace {

py::object data_type_class() { return package::data_type(); }

// The members of DataType by number; None where there is none.
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
    return py::cast(Class{std::move(handle)});
}

py::object wrap_graph(Handle&& handle) {
    auto index = handle.document->index(handle.message);
    return package::graph()(py::cast(Graph{std::move(handle), std::move(index)}));
}

using Wrap = py::object (*)(Handle&&);

// By position in the schema; null: the message has no class of its own.
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

py::object to_python(const DocumentPtr& document, const wire::FieldRow& row,
                     const wire::Field& value, bool as_proto) {
    switch (row.type) {
        case wire::Type::int64: return py::int_(value.int64());
        case wire::Type::uint64: return py::int_(value.value);
        case wire::Type::int32:
        case wire::Type::enumeration: return py::int_(value.int32());
        case wire::Type::float32: return py::float_(value.float32());
        case wire::Type::float64: return py::float_(value.float64());
        case wire::Type::string: return to_str(as_text(document->source().resident(value.bytes)));
        case wire::Type::bytes: return to_bytes(document->source().resident(value.bytes));
        case wire::Type::message: break;
    }
    Handle handle{document, onnx::Message(onnx::kSchema.message_of(row), value.bytes)};
    if (as_proto) return py::cast(ProtoView{std::move(handle)});
    return wrap_message(std::move(handle));
}

py::object default_of(const wire::FieldRow& row) {
    switch (row.type) {
        case wire::Type::string: return py::str();
        case wire::Type::bytes: return py::bytes();
        case wire::Type::float32:
        case wire::Type::float64: return py::float_(0.0);
        default: return py::int_(0);
    }
}

py::object repeated_to_python(const Handle& handle, const wire::FieldRow& row, bool as_proto) {
    if (row.is_message()) {
        return py::cast(
            MessageList{handle.document, handle.document->index(handle.message), &row, as_proto});
    }
    py::list values;
    handle.message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
        if (known != &row) return;
        wire::Field run = found;
        run.bytes = handle.document->source().resident(found.bytes);
        onnx::Message::unpack(row, run, [&](const wire::Field& value) {
            values.append(to_python(handle.document, row, value, as_proto));
        });
    });
    return values;
}

py::dict string_map(const Handle& handle, const wire::FieldRow& row) {
    py::dict map;
    handle.document->index(handle.message)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message pair(onnx::message<"StringStringEntryProto">, value.bytes);
        map[to_str(pair.text(field<"StringStringEntryProto.key">))] =
            to_str(pair.text(field<"StringStringEntryProto.value">));
    });
    return map;
}

py::object read_only(const py::dict& mapping) {
    return python_object<"types", "MappingProxyType">()(mapping);
}

py::object wrap_message(Handle handle) {
    const auto position =
        static_cast<std::size_t>(&handle.message.table() - onnx::kSchema.messages.data());
    if (kWrappers.at(position) != nullptr) return kWrappers.at(position)(std::move(handle));
    return py::cast(ProtoView{std::move(handle)});
}

}  // namespace onnxmap::bindings
