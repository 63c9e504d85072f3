#include "bindings/rounded_doubles.hpp"

#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "tensor/float_cast.hpp"

namespace onnxmap::bindings {

namespace {

// Whether it is a floating-point type that NumPy lacks.
bool is_of_ml_dtypes(const onnx::DataTypeInfo& type) noexcept {
    return type.format.is_float() && type.bits <= 16 && type.type != onnx::DataType::FLOAT16;
}

std::uint8_t* address_of(const py::object& array) {
    return reinterpret_cast<std::uint8_t*>(
        array.attr("ctypes").attr("data").cast<std::uintptr_t>());
}

}  // namespace

py::object castable_to(const onnx::DataTypeInfo& to, const py::object& array,
                       const onnx::DataTypeInfo& type) {
    if (type.type != onnx::DataType::DOUBLE || !is_of_ml_dtypes(to)) return array;
    py::object made = python_object<"numpy", "empty_like">()(array, "float32");
    const std::uint8_t* const from = address_of(array);
    std::uint8_t* const into = address_of(made);
    const auto count = array.attr("size").cast<std::uint64_t>();
    without_lock([&] { tensor::round_to_odd(from, count, into); });
    return made;
}

}  // namespace onnxmap::bindings
