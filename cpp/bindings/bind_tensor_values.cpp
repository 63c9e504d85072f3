// The values of a Tensor as arrays and as bytes.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/rounded_doubles.hpp"
#include "bindings/tensor_access.hpp"
#include "tensor/box.hpp"

namespace onnxmap::bindings {

namespace {

using tensor::Conversion;
using tensor::Values;

py::object view_or_decoded(Values& values) {
    py::object owner;
    return array_of(values, owner);
}

// The array uses copy-on-write pages of the file if the values are a view of it.
py::object writable_array(Values& values) {
    if (values.payload() == nullptr || !values.type().fixed_width()) {
        return read_array(values, Conversion::none(values.type()), true);
    }
    const tensor::Payload& payload = *values.payload();
    auto bytes =
        without_lock([&] { return payload.source->writable_copy(payload.offset, payload.nbytes); });
    return make_owned(values.type(), values.header().dims(), std::move(bytes), true);
}

// The values in a type that NumPy can cast to `dtype`.
py::object castable(Values& values, const py::object& dtype) {
    const onnx::DataTypeInfo& wide = tensor::castable_type(values.type());
    const py::object& can_cast = python_object<"numpy", "can_cast">();
    if (&wide != &values.type() &&
        !can_cast(numpy_dtype(values.type()), dtype, "unsafe").cast<bool>()) {
        return read_array(values, *Conversion::find(values.type(), wide), false);
    }
    const py::object array = view_or_decoded(values);
    const onnx::DataTypeInfo* const to = find_type(dtype);
    return to == nullptr ? array : castable_to(*to, array, values.type());
}

py::object converted_array(Values& values, const py::object& dtype, bool writable) {
    const onnx::DataTypeInfo* to = find_type(dtype);
    const auto conversion = to == nullptr ? std::nullopt : Conversion::find(values.type(), *to);
    if (conversion) return read_array(values, *conversion, writable);
    const py::object array = castable(values, dtype).attr("astype")(dtype);
    values.check_again();
    if (!writable) array.attr("flags").attr("writeable") = false;
    return array;
}

bool overlap(ByteView a, ByteView b) noexcept {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

py::object fill(const Tensor& tensor, Values& values, const py::object& given,
                const py::object& dtype) {
    if (!is_array(given)) {
        throw py::type_error("out must be a numpy.ndarray");
    }
    // A plain view of the same memory, because a subclass may report anything about its arrays.
    const py::object out = python_object<"numpy", "asarray">()(given);
    const py::object flags = out.attr("flags");
    if (!flags.attr("writeable").cast<bool>()) {
        throw py::value_error("out is read-only; pass a writable array");
    }
    const py::object out_dtype = out.attr("dtype");
    if (!dtype.is_none() && !out_dtype.equal(dtype_of(dtype))) {
        throw py::value_error(
            "dtype differs from the dtype of out; leave dtype out, or pass the same one");
    }
    const py::tuple shape = to_tuple(values.header().dims());
    if (!shape.equal(out.attr("shape"))) {
        throw py::value_error("out has the wrong shape: the tensor has " +
                              std::string(py::str(shape)) + ", out has " +
                              std::string(py::str(out.attr("shape"))));
    }
    const onnx::DataTypeInfo* to = find_type(out_dtype);
    const auto conversion = to == nullptr ? std::nullopt : Conversion::find(values.type(), *to);
    if (conversion && values.type().bits != 0 && flags.attr("c_contiguous").cast<bool>()) {
        const std::span<std::uint8_t> memory(
            reinterpret_cast<std::uint8_t*>(out.attr("ctypes").attr("data").cast<std::uintptr_t>()),
            values.count() * to->itemsize());
        const tensor::Payload* payload = values.payload();
        if (!overlap(memory, tensor.document->source().bytes()) &&
            (payload == nullptr || !payload->is_view() || !overlap(memory, payload->bytes()))) {
            without_lock([&] {
                values.check_count();
                values.read(*conversion, memory);
            });
            return given;
        }
    }
    py::object array =
        conversion ? read_array(values, *conversion, false) : castable(values, out_dtype);
    // NumPy checks for overlapping memory only if both arrays have the same type.
    if (python_object<"numpy", "may_share_memory">()(array, out).cast<bool>()) {
        array = array.attr("copy")();
    }
    python_object<"numpy", "copyto">()(out, array, py::arg("casting") = "unsafe");
    values.check_again();
    return given;
}

py::object numpy(const Tensor& tensor, const py::object& dtype, const py::object& out,
                 const py::object& copy, bool writable) {
    const Copying copying(copy);
    return with_values(tensor, [&](Values& values) -> py::object {
        if (!out.is_none()) {
            if (copying.never) {
                throw py::value_error(
                    "copy=False contradicts out=, which is always a copy; pass only one of them");
            }
            if (writable) {
                throw py::value_error(
                    "writable=True has no effect with out=; pass only one of them");
            }
            return fill(tensor, values, out, dtype);
        }
        if (!dtype.is_none()) {
            const py::object wanted = dtype_of(dtype);
            if (!wanted.equal(numpy_dtype(values.type()))) {
                if (copying.never) {
                    throw py::value_error(
                        "copy=False, but a conversion to another dtype needs a copy");
                }
                return converted_array(values, wanted, writable || copying.always);
            }
        }
        if (copying.never && writable) {
            throw py::value_error(
                "copy=False, but a writable array of these values must be a copy");
        }
        if (copying.never && !values.is_view()) {
            throw py::value_error("copy=False, but no view of these values is possible");
        }
        if (copying.always) return read_array(values, Conversion::none(values.type()), true);
        return writable ? writable_array(values) : view_or_decoded(values);
    });
}

py::object array_protocol(const Tensor& tensor, const py::object& dtype, const py::object& copy) {
    return numpy(tensor, dtype, py::none(), copy, false);
}

// The values as bytes in the layout of raw_data, in whatever way they are stored.
py::bytes tobytes(const Tensor& tensor) {
    return with_values(tensor, [&](Values& values) {
        if (values.type().bits == 0) {
            throw py::type_error("a tensor of strings has no raw bytes; use numpy()");
        }
        without_lock([&] { values.check_count(); });
        const std::uint64_t nbytes = tensor::packed_nbytes(values.count(), values.type().bits);
        auto result =
            owned<py::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes)));
        auto* out = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(result.ptr()));
        without_lock([&] { values.read_packed({out, nbytes}); });
        return result;
    });
}

py::object packed(const Tensor& tensor) {
    return with_values(tensor, [&](Values& values) -> py::object {
        const onnx::DataTypeInfo& type = values.type();
        if (!type.sub_byte()) {
            throw py::type_error(std::string(type.name) + " is not packed; use numpy()");
        }
        if (const tensor::Payload* payload = values.payload()) {
            values.check_padding();
            if (payload->is_view()) {
                return make_bytes_view(payload->bytes(), make_owner(payload->source));
            }
        }
        const auto bytes = without_lock([&] { return packed_copy(values); });
        return make_bytes_view(bytes->bytes(), make_owner(bytes));
    });
}

// The number of bytes that raw_data has or would have, if the values are stored as raw bytes.
std::optional<std::uint64_t> stored_nbytes(const Tensor& tensor) {
    return with_values(tensor, [&](const Values& values) -> std::optional<std::uint64_t> {
        if (values.payload() == nullptr) return std::nullopt;
        values.check_padding();
        return values.payload()->nbytes;
    });
}

std::int64_t first_dimension(const Tensor& tensor) {
    const model::Tensor core = core_of(tensor);
    static_cast<void>(core.count());  // throws if no array can have the shape
    const auto dims = core.header().dims();
    if (dims.empty()) throw py::type_error("a tensor without dimensions has no len()");
    return dims[0];
}

// `numpy()[key]`; None if the array would be no view.
py::object view_at(const Tensor& tensor, const py::object& key) {
    return with_values(tensor, [&](Values& values) -> py::object {
        return values.is_view() ? py::object(view_or_decoded(values)[key]) : py::none();
    });
}

using Box = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// The tensor may have been edited since the ranges were found: indices and other threads run code.
bool is_inside(const Values& values, const Box& box) {
    const auto dims = values.header().dims();
    return values.payload() != nullptr &&
           std::ranges::equal(dims, box, [](std::int64_t length, const auto& range) {
               const auto most = static_cast<std::uint64_t>(length);
               return range.first <= most && range.second <= most - range.first;
           });
}

py::object read_box(const Tensor& tensor, const Box& box) {
    return with_values(tensor, [&](const Values& values) {
        if (!is_inside(values, box)) {
            throw py::index_error("the tensor was edited while its part was found");
        }
        std::vector<tensor::IndexRange> ranges;
        std::vector<std::int64_t> dims;
        std::uint64_t count = 1;
        for (const auto& [begin, length] : box) {
            ranges.push_back({begin, length});
            dims.push_back(static_cast<std::int64_t>(length));
            count *= length;
        }
        auto bytes = std::make_shared<source::OwnedBytes>(count * values.type().itemsize());
        without_lock([&] {
            values.check_padding();
            tensor::read_box(values, ranges, bytes->writable().data());
            values.check_again();
        });
        return make_owned(values.type(), dims, std::move(bytes), true);
    });
}

// Returns use(array), with the whole tensor as an array.
template <class Use>
auto with_array(const Tensor& tensor, Use&& use) {
    return with_values(tensor, [&](Values& values) { return use(view_or_decoded(values)); });
}

py::object call_on_array(const Tensor& tensor, const char* method) {
    return with_array(tensor,
                      [&](const py::object& array) { return py::object(array.attr(method)()); });
}

void bind_arrays(GuardedClass<Tensor>& cls) {
    cls.def("numpy", numpy, py::arg("dtype") = py::none(), py::kw_only(),
            py::arg("out") = py::none(), py::arg("copy") = py::none(), py::arg("writable") = false,
            R"(Return the values as an array of shape `shape`.

The array is a read-only view of the file if the values are stored as whole bytes: raw, external,
or packed in `float_data` or `double_data`. Otherwise it is a new array. A view may be unaligned;
a new array is aligned to 64 bytes. Types of 2, 4 and 6 bits have one byte per element, as in
ml_dtypes.

Args:
    dtype: convert to this type, a NumPy dtype or an onnxmap.DataType. The values are those of
        `astype`: rounded to nearest, ties to even, and infinite if too large. A DOUBLE is
        rounded once, unlike by ml_dtypes.
    out: write the values into this array of the same shape, converted to its dtype, and return
        it.
    copy: None copies only if needed. True always copies, and the copy is writable. False raises
        ValueError instead of copying.
    writable: return an array that may be written to without changing the file or the model. It
        uses copy-on-write pages of the file if they cost less than a copy.

Returns:
    A numpy.ndarray. It keeps the file or buffer alive.

Raises:
    TensorError: the shape, the type and the stored bytes do not agree.
    ExternalDataError: the external file is missing, too short or unsafe.
    FileChangedError: the file has changed since it was loaded.
    ValueError: `out` has another shape or is read-only; or `copy=False`, and the values must be
        decoded or converted.
    TypeError: `out` is not an array.

Example:
    >>> weights = model.initializers["w"].numpy())")
        .def("__array__", array_protocol, py::arg("dtype") = py::none(),
             py::arg("copy") = py::none())
        .def("_view_at", view_at, py::arg("key"),
             "Return `numpy()[key]`; None if the array would be no view.")
        .def(
            "item", [](const Tensor& self) { return call_on_array(self, "item"); },
            "Return the value of a tensor with one element, as a Python object.")
        .def("__iter__",
             [](const Tensor& self) {
                 return with_array(self, [](const py::object& array) { return py::iter(array); });
             })
        .def("__contains__",
             [](const Tensor& self, const py::object& value) {
                 return with_array(self,
                                   [&](const py::object& array) { return array.contains(value); });
             })
        .def("__len__", first_dimension);
    // Without these methods, Python would parse the bytes of the buffer as text.
    for (const char* const name : {"__int__", "__float__", "__index__", "__complex__"}) {
        cls.def(name, [name](const Tensor& self) { return call_on_array(self, name); });
    }
}

void bind_bytes(GuardedClass<Tensor>& cls) {
    cls.def("tobytes", tobytes,
            R"(Return the values as bytes in the layout of `raw_data`: little-endian and packed.

Raises:
    TypeError: the tensor holds strings.)")
        .def(
            "packed", packed,
            R"(Return the stored bytes of a 2-, 4- or 6-bit tensor as a read-only, flat uint8 array.

The bytes have the layout of `raw_data`. The array is a view if the stored bytes are mapped or in
a buffer, and a new array if they are in a typed field or in a file that is read.

Raises:
    TypeError: the tensor has another type.

Source: onnx.proto, TensorProto.raw_data.)")
        .def_property_readonly(
            "_stored_nbytes", stored_nbytes,
            "The number of bytes of the values, as stored; None if they are in a typed field.")
        .def("_box", read_box, py::arg("ranges"),
             R"(Return the elements of a box as a new array.

Args:
    ranges: for each axis the first index and the number of indices.

Raises:
    IndexError: the tensor has no such box, or its values are not stored as bytes.)");
}

}  // namespace

void bind_tensor_values(GuardedClass<Tensor>& cls) {
    bind_arrays(cls);
    bind_bytes(cls);
}

}  // namespace onnxmap::bindings
