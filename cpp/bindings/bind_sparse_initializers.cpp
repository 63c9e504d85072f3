// Sparse initializers: sparse tensors of a graph by name.
#include <cstdint>
#include <optional>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/initializer_class.hpp"

namespace onnxmap::bindings {

namespace {

constexpr const char* kSparseField = "sparse_initializer";

std::optional<std::uint64_t> position_in(const SparseInitializers& self, const py::object& name) {
    return below_guard(self, [&]() -> std::optional<std::uint64_t> {
        if (!has_name(self, name)) return std::nullopt;
        return position_of(self.graph()->sparse_initializer_names(), name);
    });
}

// A copy of a SparseTensorProto, of any library, or of a SparseTensor.
Handle sparse_tensor_of(const SparseInitializers& self, const py::object& given) {
    if (!find_message("SparseTensorProto", given)) {
        throw py::type_error("a sparse initializer is a SparseTensor or a SparseTensorProto, not " +
                             type_name(given) +
                             "; onnxmap.make_sparse_tensor(values, indices, dims) makes one");
    }
    const Handle original = original_for(self, "SparseTensorProto", given, false);
    Handle made = new_message(original.made.table());
    copy(made, original);
    return made;
}

}  // namespace

// Gives the sparse initializer of a name another tensor, or adds one at the end.
void set_item(const SparseInitializers& self, const py::object& name, const py::object& given) {
    check_new_name(name);
    const Handle made = sparse_tensor_of(self, given);
    py::cast(ProtoView{made}).attr("values").attr("name") = name;
    const auto before = position_in(self, name);
    const NewElement added{before.value_or(kAtEnd), made};
    std::vector<std::uint64_t> gone;
    if (before) {
        gone.push_back(*before);
    } else {
        check_free<Initializers>(self, name, "initializers");
    }
    splice(self, row_named(self, kSparseField), {&added, 1}, gone);
}

// Throws KeyError, and ValueError if its value is used.
void remove_item(const SparseInitializers& self, const py::object& name) {
    check_unused(self, name);
    const std::uint64_t position = below_guard(
        self, [&] { return position_of(self.graph()->sparse_initializer_names(), name); });
    splice(self, row_named(self, kSparseField), {}, {&position, 1});
}

void bind_sparse_initializers(py::module_& module) {
    bind_by_name<SparseInitializers>(
        module, "SparseInitializers", kSparseField,
        R"(The sparse initializers of a graph by the name of their values, in file order.

Assigning a SparseTensor or a SparseTensorProto, such as one of `make_sparse_tensor`, copies it; a new
name goes to the end.

Looking up a repeated name raises ParseError `model.duplicate_name`. `all()` yields every sparse
initializer, unnamed ones too.)");
}

}  // namespace onnxmap::bindings
