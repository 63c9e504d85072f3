#include "bindings/value_types.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "bindings/editing.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

using Kind = model::ValueType::Kind;

py::object dimension(const model::Dimension& dim) {
    if (dim.value) return py::int_(*dim.value);
    return dim.param.empty() ? py::object(py::none()) : to_str(dim.param);
}

py::object inner_type(const model::ValueType& type) {
    return type.inner ? type_object(*type.inner) : py::none();
}

py::object shape_of(const model::ValueType& type) {
    return type.shape ? py::object(dimensions(*type.shape)) : py::none();
}

// The class of onnxmap.types; its table has the order of Kind.
py::object class_of(Kind kind) { return package::value_types()[py::int_(static_cast<int>(kind))]; }

// More than messages may nest. A type of Python may have any number.
constexpr std::uint32_t kMostLevels = 100;

constexpr Kind kKinds[] = {Kind::tensor, Kind::sparse_tensor, Kind::sequence,
                           Kind::map,    Kind::optional,      Kind::opaque};

std::optional<Kind> kind_of(const py::handle& object) {
    if (!PyTuple_Check(object.ptr())) return std::nullopt;
    for (const Kind kind : kKinds) {
        if (py::isinstance(object, class_of(kind))) return kind;
    }
    return std::nullopt;
}

// The number of an element type that is given as number, name or NumPy type.
py::object element_number(const py::object& given) {
    if (PyLong_Check(given.ptr())) return exact_int(given);
    try {
        return exact_int(enum_class("DataType")(given));
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_ValueError)) throw;
        const std::string text = to_printable(py::str(error.value())) +
                                 "; use a DataType, such as DataType.FLOAT, or a NumPy type";
        py::raise_from(error, PyExc_ValueError, text.c_str());
        throw py::error_already_set();
    }
}

// The type inside another one. `depth` levels are around it.
Handle inner_message(const py::object& type, std::uint32_t depth);

py::dict dimension_fields(const py::handle& size) {
    if (size.is_none()) return {};
    if (py::isinstance<py::str>(size)) return py::dict(py::arg("dim_param") = size);
    if (PyBool_Check(size.ptr())) {
        throw py::type_error("a dimension is an int, a str or None, not bool");
    }
    if (PyIndex_Check(size.ptr()) == 0) {
        throw py::value_error(std::string("a dimension is an int, a str or None, not ") +
                              type_name(size));
    }
    return py::dict(py::arg("dim_value") = size);
}

// The fields of each dimension. `denotations`: of all of them, or of none.
py::list dims_of(const py::object& shape, const py::tuple& denotations = py::tuple()) {
    const bool is_text = py::isinstance<py::str>(shape) || py::isinstance<py::bytes>(shape);
    if (is_text || !py::isinstance<py::iterable>(shape)) {
        throw py::type_error("a shape is a sequence of dimensions, such as (1, 'n'), not " +
                             type_name(shape));
    }
    const py::list sizes(shape);
    if (!denotations.empty() && denotations.size() != sizes.size()) {
        throw py::value_error(std::to_string(denotations.size()) + " denotations for " +
                              std::to_string(sizes.size()) + " dimensions");
    }
    return list_of(sizes, dimension_fields);
}

void denote(const py::list& dims, const py::tuple& denotations) {
    for (std::size_t i = 0; i < denotations.size(); ++i) dims[i]["denotation"] = denotations[i];
}

py::dict tensor_fields(const py::object& element_type, const py::object& shape,
                       const py::tuple& denotations) {
    py::dict fields(py::arg("elem_type") = element_number(element_type));
    if (shape.is_none()) return fields;
    const py::list dims = dims_of(shape, denotations);
    denote(dims, denotations);
    fields["shape"] = py::dict(py::arg("dim") = dims);
    return fields;
}

py::object denotation_or_none(const std::optional<std::string_view>& denotation) {
    return denotation ? py::object(to_str(*denotation)) : py::none();
}

// The denotation of each dimension of a tensor, or an empty tuple if none has one.
py::tuple denotations_of(const model::ValueType& type) {
    const bool has_any = type.shape && std::ranges::any_of(*type.shape, [](const auto& dim) {
                             return dim.denotation.has_value();
                         });
    if (!has_any) return py::tuple();
    return list_of(*type.shape, [](const auto& dim) { return denotation_or_none(dim.denotation); });
}

py::dict type_fields(Kind kind, const py::tuple& type, std::uint32_t depth) {
    const auto part = [&](std::size_t i) { return py::object(type[i]); };
    const auto shape_and_meaning = [&] {
        const py::object given = py::getattr(type, "shape_denotation", py::tuple());
        return tensor_fields(part(0), part(1), given);
    };
    const auto inner = [&](std::size_t i) { return ProtoView{inner_message(part(i), depth + 1)}; };
    const auto text = [&](std::size_t i) {  // None would leave the field out
        if (!py::isinstance<py::str>(part(i))) {
            throw py::type_error("expected a str, not " + type_name(part(i)));
        }
        return part(i);
    };
    switch (kind) {
        case Kind::tensor: return py::dict(py::arg("tensor_type") = shape_and_meaning());
        case Kind::sparse_tensor:
            return py::dict(py::arg("sparse_tensor_type") = shape_and_meaning());
        case Kind::sequence:
            return py::dict(py::arg("sequence_type") = py::dict(py::arg("elem_type") = inner(0)));
        case Kind::optional:
            return py::dict(py::arg("optional_type") = py::dict(py::arg("elem_type") = inner(0)));
        case Kind::map:
            return py::dict(py::arg("map_type") =
                                py::dict(py::arg("key_type") = element_number(part(0)),
                                         py::arg("value_type") = inner(1)));
        case Kind::opaque: break;
    }
    return py::dict(py::arg("opaque_type") =
                        py::dict(py::arg("domain") = text(0), py::arg("name") = text(1)));
}

Handle message_of(Kind kind, const py::tuple& type, std::uint32_t depth) {
    if (depth > kMostLevels) fail_edited_too_deep();
    Handle made = new_message(*onnx::find_message("TypeProto"));
    set_fields(made, type_fields(kind, type, depth));
    const py::object denotation = py::getattr(type, "denotation", py::none());
    set_fields(made, py::dict(py::arg("denotation") = denotation));
    return made;
}

Handle inner_message(const py::object& type, std::uint32_t depth) {
    const auto kind = kind_of(type);
    return kind ? message_of(*kind, type, depth) : message_for("TypeProto", type);
}

// The message with the element type and the shape of a value that is, or becomes, a tensor.
py::object tensor_in(const ValueInfo& info) {
    const py::object view = py::cast(ProtoView{info});
    const py::object type = view.attr("type");
    const py::object which = type.attr("WhichOneof")("value");
    const std::string kind = which.is_none() ? "tensor_type" : which.cast<std::string>();
    if (kind != "tensor_type" && kind != "sparse_tensor_type") {
        throw py::value_error("value " + to_printable(py::repr(view.attr("name"))) +
                              " is not a tensor: its type is " + kind + "; assign .type");
    }
    return type.attr(kind.c_str());
}

}  // namespace

bool is_type_object(const py::handle& object) { return kind_of(object).has_value(); }

py::object type_message(const py::object& type) {
    const auto kind = kind_of(type);
    const bool is_pair = Py_TYPE(type.ptr()) == &PyTuple_Type && py::len(type) == 2;
    if (!kind && !is_pair) return type;
    return py::cast(ProtoView{message_of(kind.value_or(Kind::tensor), type, 0)});
}

void set_type(const ValueInfo& info, const py::object& type) {
    set_property(info, row_named(info, "type"), type_message(type));
}

void set_element_type(const ValueInfo& info, const py::object& type) {
    const py::object number = element_number(type);
    tensor_in(info).attr("elem_type") = number;
}

void set_shape(const ValueInfo& info, const py::object& shape) {
    const py::object tensor = tensor_in(info);
    if (tensor.attr("elem_type").cast<int>() == 0) {
        throw py::value_error("value " +
                              to_printable(py::repr(py::cast(ProtoView{info}).attr("name"))) +
                              " has no element type; assign .dtype first");
    }
    const ProtoView& view = checked_value<ProtoView>(tensor);
    const auto& row = row_named(view, "shape");
    if (shape.is_none()) return set_property(view, row, shape);
    // What the dimensions mean stays if there are as many as before.
    const auto before =
        below_guard(info, [&] { return model::type_of_value(*info.document, info.message()); });
    const py::tuple denotations = before ? denotations_of(*before) : py::tuple();
    const py::list dims = dims_of(shape);
    if (dims.size() == denotations.size()) denote(dims, denotations);
    const Handle made = new_message(*onnx::find_message("TensorShapeProto"));
    set_fields(made, py::dict(py::arg("dim") = dims));
    set_property(view, row, py::cast(ProtoView{made}));
}

py::tuple dimensions(const std::vector<model::Dimension>& shape) {
    py::tuple dims(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) dims[i] = dimension(shape[i]);
    return dims;
}

py::object type_object(const model::ValueType& type) {
    const auto elem_type = [&] { return data_type_or_int(type.elem_type.value_or(0)); };
    const py::object cls = class_of(type.kind);
    const py::object denotation = denotation_or_none(type.denotation);
    switch (type.kind) {
        case Kind::tensor:
        case Kind::sparse_tensor:
            return cls(elem_type(), shape_of(type), denotations_of(type), denotation);
        case Kind::sequence:
        case Kind::optional: return cls(inner_type(type), denotation);
        case Kind::map: return cls(elem_type(), inner_type(type), denotation);
        case Kind::opaque: break;
    }
    return cls(to_str(type.domain), to_str(type.name), denotation);
}

}  // namespace onnxmap::bindings
