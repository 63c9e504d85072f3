#include "bindings/value_types.hpp"

#include "bindings/package_seam.hpp"
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

}  // namespace

py::tuple dimensions(const std::vector<model::Dimension>& shape) {
    py::tuple dims(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) dims[i] = dimension(shape[i]);
    return dims;
}

py::object type_object(const model::ValueType& type) {
    const auto elem_type = [&] { return data_type_or_int(type.elem_type.value_or(0)); };
    switch (type.kind) {
        case Kind::tensor: return package::tensor_type()(elem_type(), shape_of(type));
        case Kind::sparse_tensor: return package::sparse_tensor_type()(elem_type(), shape_of(type));
        case Kind::sequence: return package::sequence_type()(inner_type(type));
        case Kind::map: return package::map_type()(elem_type(), inner_type(type));
        case Kind::optional: return package::optional_type()(inner_type(type));
        case Kind::opaque: break;
    }
    return package::opaque_type()(to_str(type.domain), to_str(type.name));
}

}  // namespace onnxmap::bindings
