#include "bindings/arrays.hpp"

#include <pybind11/numpy.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "io/owned_bytes.hpp"
#include "tensor/typed_fields.hpp"

namespace onnxmap::bindings {

namespace {

using Npy = py::detail::npy_api;

// Where a zero-element view points when the file has no bytes to point to.
alignas(16) constexpr std::uint8_t kNothing[16] = {};

struct NumpyType {
    py::object dtype;
    std::uintptr_t alignment = 1;
};

// Imports one type at a time, so that ml_dtypes is loaded only for models that need it.
const NumpyType& numpy_type(const onnx::DataTypeInfo& type) {
    constexpr std::size_t kMostTypes = 64;
    static std::array<py::gil_safe_call_once_and_store<NumpyType>, kMostTypes> types;
    return types.at(static_cast<std::size_t>(type.type))
        .call_once_and_store_result([&] {
            const py::object numpy_dtype = python_object<"numpy", "dtype">();
            const py::str name(type.numpy.data(), type.numpy.size());
            const bool native = python_object<"numpy", "sctypeDict">().contains(name);
            const py::object dtype = numpy_dtype(
                native ? py::object(name) : py::module_::import("ml_dtypes").attr(name));
            return NumpyType{dtype, dtype.attr("alignment").cast<std::uintptr_t>()};
        })
        .get_stored();
}

bool aligned_to(const std::uint8_t* data, std::uintptr_t alignment) noexcept {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// `data` null: NumPy allocates.
py::object new_array(const NumpyType& type, const tensor::Header& header,
                     const std::uint8_t* data) {
    const auto& api = Npy::get();
    const std::span<const std::int64_t> dims = header.dims();
    int flags = 0;
    if (data != nullptr && aligned_to(data, type.alignment)) flags = Npy::NPY_ARRAY_ALIGNED_;
    PyObject* dtype = type.dtype.ptr();
    Py_INCREF(dtype);  // NewFromDescr keeps it
    static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));
    PyObject* array =
        api.PyArray_NewFromDescr_(api.PyArray_Type_, dtype, static_cast<int>(dims.size()),
                                  reinterpret_cast<const Py_intptr_t*>(dims.data()), nullptr,
                                  const_cast<std::uint8_t*>(data), flags, nullptr);
    if (array == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(array);
}

[[noreturn]] void fail_unsupported(const tensor::Header& header, const onnx::DataTypeInfo& type) {
    tensor::fail(header, "tensor.unsupported",
                 std::string(type.name) + " values are not unpacked by this version");
}

py::object string_array(const tensor::Header& header, const std::vector<std::string_view>& texts) {
    const onnx::DataTypeInfo& type = tensor::element_type(header);
    py::object array = new_array(numpy_type(type), header, nullptr);
    py::list values;
    for (const std::string_view text : texts) {
        PyObject* str =
            PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
        if (str == nullptr) PyErr_Clear();
        values.append(str == nullptr ? py::object(to_bytes(as_bytes(text)))
                                     : py::reinterpret_steal<py::object>(str));
    }
    // One by one: assigning a list would look into sequences, and bytes are one.
    const py::object flat = array.attr("flat");
    for (std::size_t i = 0; i < values.size(); ++i) flat[py::int_(i)] = values[i];
    array.attr("flags").attr("writeable") = false;
    return array;
}

// Not writable for good, as a view is not, though nobody else looks at the bytes.
py::object owned_array(const onnx::DataTypeInfo& type, const tensor::Header& header,
                       std::shared_ptr<const io::Source> values) {
    const ByteView bytes = values->bytes();
    py::object owner = make_owner(values);
    return make_view(type, header, {std::move(values), bytes}, owner);
}

}  // namespace

py::object make_owner(std::shared_ptr<const io::Source> source) {
    using Share = std::shared_ptr<const io::Source>;
    auto share = std::make_unique<Share>(std::move(source));
    py::capsule owner(share.get(), "onnxmap.Source",
                      [](void* pointer) { delete static_cast<Share*>(pointer); });
    static_cast<void>(share.release());
    return owner;
}

py::object make_view(const onnx::DataTypeInfo& type, const tensor::Header& header,
                     const tensor::Payload& payload, const py::object& owner) {
    const std::uint8_t* data = payload.bytes.empty() ? kNothing : payload.bytes.data();
    py::object array = new_array(numpy_type(type), header, data);
    if (Npy::get().PyArray_SetBaseObject_(array.ptr(), py::object(owner).release().ptr()) < 0) {
        throw py::error_already_set();
    }
    return array;
}

py::object make_bytes_view(const tensor::Payload& payload, const py::object& owner) {
    tensor::Header flat;
    flat.rank = 1;
    flat.dims_storage[0] = static_cast<std::int64_t>(payload.bytes.size());
    const auto uint8 = static_cast<std::int32_t>(onnx::DataType::UINT8);
    return make_view(*onnx::find_data_type(uint8), flat, payload, owner);
}

py::object make_array(const onnx::DataTypeInfo& type, const tensor::Header& header,
                      const tensor::Payload& payload, const py::object& owner) {
    if (!type.fixed_width()) fail_unsupported(header, type);
    if (payload.is_view()) return make_view(type, header, payload, owner);
    auto copy = std::make_shared<io::OwnedBytes>(payload.bytes.size());
    {
        const py::gil_scoped_release release;
        payload.source->read(payload.offset, copy->writable());
    }
    return owned_array(type, header, std::move(copy));
}

py::object decode_array(const onnx::Message& message, const tensor::Header& header,
                        const tensor::Store& store) {
    const onnx::DataTypeInfo& type = tensor::element_type(header);
    const std::uint64_t count = tensor::check_storage(header);
    if (!type.fixed_width() && type.bits != 0) fail_unsupported(header, type);
    for (std::size_t i = 0; i < message.piece_count(); ++i) {
        static_cast<void>(store.source->resident(message.piece(i)));
    }
    if (type.bits == 0) {
        return string_array(header, tensor::decode_strings(message, header, count));
    }
    tensor::check_typed_count(message, header, count);
    auto values = std::make_shared<io::OwnedBytes>(count * type.itemsize());
    {
        const py::gil_scoped_release release;
        tensor::decode_typed(message, header, count, values->writable());
    }
    return owned_array(type, header, std::move(values));
}

bool is_aligned(const onnx::DataTypeInfo& type, const tensor::Payload& payload) {
    return payload.bytes.empty() || aligned_to(payload.bytes.data(), numpy_type(type).alignment);
}

py::object numpy_dtype(const onnx::DataTypeInfo& type) { return numpy_type(type).dtype; }

}  // namespace onnxmap::bindings
