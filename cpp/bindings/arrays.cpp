#include "bindings/arrays.hpp"

#include <pybind11/numpy.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/made_once.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/package_seam.hpp"

namespace onnxmap::bindings {

namespace {

using Npy = py::detail::npy_api;

// The address of a view without elements if the file has no bytes.
alignas(64) std::uint8_t nothing[64] = {};

// What people call types, besides their names in ONNX and NumPy.
constexpr std::pair<std::string_view, onnx::DataType> kSpellings[] = {
    {"fp64", onnx::DataType::DOUBLE},   {"fp32", onnx::DataType::FLOAT},
    {"fp16", onnx::DataType::FLOAT16},  {"half", onnx::DataType::FLOAT16},
    {"bf16", onnx::DataType::BFLOAT16},
};

struct NumpyType {
    py::object dtype;
    std::uintptr_t alignment = 1;
};

// Imports one type at a time, so that ml_dtypes is loaded only for models that need it.
const NumpyType& numpy_type(const onnx::DataTypeInfo& type) {
    constexpr std::size_t kMostTypes = 64;
    constinit static std::array<std::atomic<const NumpyType*>, kMostTypes> types{};
    return made_once(types.at(static_cast<std::size_t>(type.type)), [&] {
        const py::object numpy_dtype = python_object<"numpy", "dtype">();
        const py::str name(type.numpy.data(), type.numpy.size());
        const bool native = python_object<"numpy", "sctypeDict">().contains(name);
        const py::object dtype =
            numpy_dtype(native ? py::object(name) : import_module("ml_dtypes").attr(name));
        return std::make_unique<const NumpyType>(
            NumpyType{dtype, dtype.attr("alignment").cast<std::uintptr_t>()});
    });
}

bool aligned_to(const std::uint8_t* data, std::uintptr_t alignment) noexcept {
    return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// If `data` is null, NumPy allocates the memory, and the array is writable.
py::object new_array(const NumpyType& type, std::span<const std::int64_t> dims,
                     const std::uint8_t* data, bool writable) {
    const auto& api = Npy::get();
    int flags = 0;  // any other number, without data, would mean Fortran's order
    if (data != nullptr && writable) flags |= Npy::NPY_ARRAY_WRITEABLE_;
    if (data != nullptr && aligned_to(data, type.alignment)) flags |= Npy::NPY_ARRAY_ALIGNED_;
    PyObject* dtype = type.dtype.ptr();
    Py_INCREF(dtype);  // NewFromDescr keeps it
    static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));
    return owned(api.PyArray_NewFromDescr_(api.PyArray_Type_, dtype, static_cast<int>(dims.size()),
                                           reinterpret_cast<const Py_intptr_t*>(dims.data()),
                                           nullptr, const_cast<std::uint8_t*>(data), flags,
                                           nullptr));
}

PyObject* new_text(std::string_view text) {
    const auto nbytes = static_cast<Py_ssize_t>(text.size());
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), nbytes, "strict");
    if (made == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) != 0) {
        PyErr_Clear();
        made = PyBytes_FromStringAndSize(text.data(), nbytes);
    }
    if (made == nullptr) throw py::error_already_set();
    return made;
}

// Shares one object among equal short strings: each object takes about 60 bytes, but a string may
// take two in the file. At most kMost are remembered. A dict is safe because a file cannot predict
// Python's hashes.
class SharedTexts {
  public:
    // Takes over a reference to `text`, and returns a new one.
    PyObject* operator()(PyObject* text, std::size_t nbytes) {
        // bytes objects are not shared: Python may warn when they are compared with str.
        if (nbytes > kLongest || PyUnicode_CheckExact(text) == 0) return text;
        PyObject* known = PyDict_GetItemWithError(known_.ptr(), text);
        if (known != nullptr) {
            Py_INCREF(known);
            Py_DECREF(text);
            return known;
        }
        const bool failed =
            PyErr_Occurred() != nullptr ||
            (PyDict_Size(known_.ptr()) < kMost && PyDict_SetItem(known_.ptr(), text, text) != 0);
        if (failed) {
            Py_DECREF(text);
            throw py::error_already_set();
        }
        return text;
    }

  private:
    static constexpr std::size_t kLongest = 32;
    static constexpr Py_ssize_t kMost = 1 << 14;

    py::dict known_;
};

py::object string_array(tensor::Values& values, bool writable) {
    values.check_count();
    py::object array = new_array(numpy_type(values.type()), values.header().dims(), nullptr, true);
    // NumPy begins with null pointers, and this is the only reference to the array.
    auto* elements = static_cast<PyObject**>(py::array(array).mutable_data());
    SharedTexts share;
    values.for_each_string([&](std::uint64_t i, std::string_view text) {
        PyObject* old = std::exchange(elements[i], share(new_text(text), text.size()));
        Py_XDECREF(old);
    });
    if (!writable) array.attr("flags").attr("writeable") = false;
    return array;
}

}  // namespace

py::object make_owner(std::shared_ptr<const source::Source> source) {
    using Share = std::shared_ptr<const source::Source>;
    auto share = std::make_unique<Share>(std::move(source));
    py::capsule owner(share.get(), "onnxmap.Source",
                      [](void* pointer) { delete static_cast<Share*>(pointer); });
    static_cast<void>(share.release());
    return owner;
}

py::object numpy_dtype(const onnx::DataTypeInfo& type) { return numpy_type(type).dtype; }

const onnx::DataTypeInfo* type_named(std::string_view name) {
    for (const onnx::DataTypeInfo& info : onnx::data_types()) {
        if (name == info.name || name == info.numpy) return &info;
    }
    const std::string small = lower(name);
    for (const auto& [spelling, type] : kSpellings) {
        if (small == spelling) return &onnx::data_type(type);
    }
    return nullptr;
}

py::object dtype_of(const py::object& dtype) {
    if (py::isinstance(dtype, enum_class("DataType"))) {
        return dtype.attr("numpy")();
    }
    if (py::isinstance<py::str>(dtype)) {
        if (PyUnicode_AsUTF8(dtype.ptr()) == nullptr) {
            PyErr_Clear();
            throw py::type_error("data type '" + to_printable(dtype) + "' not understood");
        }
        const auto* const type = type_named(to_printable(dtype));
        if (type != nullptr) return numpy_dtype(*type);
    }
    return python_object<"numpy", "dtype">()(dtype);
}

const onnx::DataTypeInfo* find_type(const py::object& dtype) {
    if (!dtype.attr("isnative").cast<bool>()) return nullptr;
    const auto name = dtype.attr("name").cast<std::string>();
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (type.numpy == name) return numpy_dtype(type).equal(dtype) ? &type : nullptr;
    }
    return nullptr;
}

py::object make_view(const onnx::DataTypeInfo& type, std::span<const std::int64_t> dims,
                     ByteView bytes, const py::object& owner, bool writable) {
    const std::uint8_t* data = bytes.empty() ? nothing : bytes.data();
    py::object array = new_array(numpy_type(type), dims, data, writable);
    if (Npy::get().PyArray_SetBaseObject_(array.ptr(), py::object(owner).release().ptr()) < 0) {
        throw py::error_already_set();
    }
    return array;
}

py::object make_bytes_view(ByteView bytes, const py::object& owner) {
    const auto nbytes = static_cast<std::int64_t>(bytes.size());
    return make_view(onnx::data_type(onnx::DataType::UINT8), {&nbytes, 1}, bytes, owner);
}

py::object make_owned(const onnx::DataTypeInfo& type, std::span<const std::int64_t> dims,
                      std::shared_ptr<source::OwnedBytes> bytes, bool writable) {
    const ByteView view = bytes->bytes();
    return make_view(type, dims, view, make_owner(std::move(bytes)), writable);
}

py::object read_array(tensor::Values& values, const tensor::Conversion& conversion, bool writable) {
    if (values.type().bits == 0) return string_array(values, writable);
    std::shared_ptr<source::OwnedBytes> bytes;
    {
        const WithoutLock unlocked;
        values.check_count();
        bytes = std::make_shared<source::OwnedBytes>(values.count() * conversion.to().itemsize());
        values.read(conversion, bytes->writable());
    }
    return make_owned(conversion.to(), values.header().dims(), std::move(bytes), writable);
}

std::shared_ptr<source::OwnedBytes> packed_copy(tensor::Values& values) {
    values.check_count();
    auto bytes = std::make_shared<source::OwnedBytes>(
        tensor::packed_nbytes(values.count(), values.type().bits));
    values.read_packed(bytes->writable());
    return bytes;
}

py::object array_of(tensor::Values& values, py::object& owner) {
    const onnx::DataTypeInfo& type = values.type();
    if (!values.is_view()) return read_array(values, tensor::Conversion::none(type), false);
    if (!owner) owner = make_owner(values.payload()->source);
    return make_view(type, values.header().dims(), values.payload()->bytes(), owner);
}

bool is_array(const py::object& object) { return py::isinstance<py::array>(object); }

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> dims, std::int64_t step) {
    std::vector<std::int64_t> strides(dims.size());
    for (std::size_t i = dims.size(); i-- > 0;) {
        strides[i] = step;
        step *= dims[i];
    }
    return strides;
}

bool is_aligned(const onnx::DataTypeInfo& type, ByteView bytes) {
    return bytes.empty() || aligned_to(bytes.data(), numpy_type(type).alignment);
}

}  // namespace onnxmap::bindings
