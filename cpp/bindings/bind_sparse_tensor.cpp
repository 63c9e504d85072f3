// SparseTensor.
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/message_class.hpp"
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
    throw Error("limit.dense_bytes",
                {"sparse tensor ", Quoted(name), " needs ", what, ", but the limit is ",
                 to_printable(py::str(most)), "; raise it with ", remedy});
}

}  // namespace

void bind_sparse_tensor(py::module_& module) {
    auto cls = message_class<SparseTensor>(module, "SparseTensorProto",
                                           "A sparse tensor: stored values and their indices.");
    cls.def_property_readonly(
           "name", [](const SparseTensor& self) { return to_str(core_of(self).name()); },
           "The name, which is stored as the name of the values.")
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
        .def(
            "_check_structure",
            [](const SparseTensor& self) { static_cast<void>(core_of(self).check_structure()); },
            "Check that the values, indices and shape agree.")
        .def("_check_dense", check_dense, py::arg("what"), py::arg("nbytes"), py::arg("remedy"),
             py::arg("max_bytes") = py::none(),
             "Check types and shapes. Raise LimitError if so many bytes are more than `max_bytes`, "
             "or the model's limit.")
        .def("_positions", positions,
             "Return the checked positions of the values in the flattened tensor.");
}

}  // namespace onnxmap::bindings
