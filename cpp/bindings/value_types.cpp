#include "bindings/value_types.hpp"

#include <algorithm>
#include <optional>
#include <string>

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

}  // namespace

py::object shape_of(const model::ValueType& type) {
    if (!type.shape) return py::none();
    py::tuple dims(type.shape->size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dimension((*type.shape)[i]);
    return dims;
}

py::object type_object(const model::ValueType& type) {
    const auto elem_type = [&] { return data_type_or_int(type.elem_type.value_or(0)); };
    // The table of onnxmap.types has the order of Kind.
    const py::object cls = package::value_types()[py::int_(static_cast<int>(type.kind))];
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
