// SparseTensor.
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/display.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "model/sparse_tensor.hpp"
#include "model/tensor.hpp"

namespace onnxmap::bindings {

namespace {

model::SparseTensor core_of(const SparseTensor& self) { return {*self.document, self.message()}; }

Tensor sparse_values(const SparseTensor& self) { return {{self.document, core_of(self).values()}}; }

std::uint64_t count_of_values(const SparseTensor& self) {
    return model::Tensor(*self.document, core_of(self).values()).count();
}

py::object positions(const SparseTensor& self) {
    std::shared_ptr<source::OwnedBytes> bytes;
    std::int64_t count = 0;
    {
        const WithoutLock unlocked;
        const model::SparseTensor core = core_of(self);
        const model::SparseStructure structure = core.check_structure();
        count = static_cast<std::int64_t>(structure.count);
        bytes = core.positions(structure);
    }
    return make_owned(onnx::data_type(onnx::DataType::INT64), {&count, 1}, std::move(bytes), false);
}

void check_dense(const SparseTensor& self, const std::string& what, const py::int_& nbytes,
                 const std::string& remedy, const py::object& max_bytes) {
    static_cast<void>(core_of(self).check_structure());
    const py::object most = max_bytes.is_none() ? py::int_(self.document->limits().dense_bytes)
                                                : python_object<"operator", "index">()(max_bytes);
    if (!(nbytes > most)) return;
    constexpr std::size_t kLongest = 200;
    const std::string name(core_of(self).name().substr(0, kLongest));
    throw Error("limit.dense_bytes", "sparse tensor " + in_quotes(name) + " needs " + what +
                                         ", but the limit is " + to_printable(py::str(most)) +
                                         "; raise it with " + remedy);
}

py::object to_dense(const SparseTensor& self, const py::object& max_bytes) {
    static_cast<void>(core_of(self).check_structure());  // first: the type may be none
    const py::tuple shape = to_tuple(core_of(self).dims());
    const py::object values = py::cast(sparse_values(self));
    const py::object dtype = values.attr("dtype").attr("numpy")();
    py::object nbytes = dtype.attr("itemsize");
    for (const py::handle dim : shape) nbytes = nbytes * py::reinterpret_borrow<py::object>(dim);
    check_dense(self, to_printable(py::str(nbytes)) + " bytes when dense", nbytes,
                "to_dense(max_bytes=...) or limits=Limits(dense_bytes=...)", max_bytes);
    const py::object flat_positions = positions(self);
    // NumPy must not read a file that may be truncated, so this is a copy.
    const py::object stored = values.attr("numpy")(py::arg("copy") = true);
    const bool is_text = dtype.attr("kind").cast<std::string>() == "O";
    const py::object dense = is_text ? python_object<"numpy", "full">()(shape, "", dtype)
                                     : python_object<"numpy", "zeros">()(shape, dtype);
    dense.attr("reshape")(-1)[flat_positions] = stored;
    return dense;
}

}  // namespace

void bind_sparse_tensor(py::module_& module) {
    GuardedClass<SparseTensor> cls(module, "SparseTensor",
                                   "A sparse tensor: stored values and their indices.");
    bind_proto(cls, "SparseTensorProto");
    cls.def_property_readonly(
           "name", [](const SparseTensor& self) { return to_str(core_of(self).name()); },
           "The name, which is stored as the name of the values.")
        .def_property_readonly(
            "dtype",
            [](const SparseTensor& self) -> py::object {
                return py::cast(sparse_values(self)).attr("dtype");
            },
            "The element type of the values as a DataType.")
        .def_property_readonly(
            "shape", [](const SparseTensor& self) { return to_tuple(core_of(self).dims()); },
            "The shape of the dense tensor.")
        .def_property_readonly("values", sparse_values,
                               "The stored values: a Tensor of shape [nnz].")
        .def_property_readonly(
            "indices",
            [](const SparseTensor& self) {
                return Tensor{{self.document, core_of(self).indices()}};
            },
            "The indices of the values: a Tensor of shape [nnz] (linear) or [nnz, rank].")
        .def_property_readonly("nnz", count_of_values, "The number of stored values.")
        .def("to_dense", to_dense, py::kw_only(), py::arg("max_bytes") = py::none(),
             R"(Return the dense tensor as a new, writable array.

All other elements are zeros, or empty strings for STRING.

Args:
    max_bytes: the most bytes that the array may have; by default `Limits(dense_bytes=...)` of
        the load.

Raises:
    LimitError: `limit.dense_bytes`: the array would be larger.
    TensorError: `tensor.sparse_*`: the values, indices and shape do not agree.)")
        .def("to_scipy", unguarded(call_package<package::to_scipy>),
             R"(Return the sparse tensor as a `scipy.sparse.coo_array`.

The indices are copied, the values only if needed.

Raises:
    TensorError: as for `to_dense`.
    ValueError: SciPy has no arrays of this type or number of dimensions.)")
        .def("_check_dense", check_dense, py::arg("what"), py::arg("nbytes"), py::arg("remedy"),
             py::arg("max_bytes") = py::none(),
             "Check types and shapes. Raise LimitError if so many bytes are more than `max_bytes`, "
             "or the model's limit.")
        .def("_positions", positions,
             "Return the checked positions of the values in the flattened tensor.");
    bind_html_display(cls);
}

}  // namespace onnxmap::bindings
