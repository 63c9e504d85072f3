// onnxmap._core: the bindings. They convert arguments, call the core and convert the results.
#include <pybind11/pybind11.h>

#include "bindings/bind.hpp"
#include "bindings/errors.hpp"
#include "bindings/sealed_classes.hpp"

PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
    using namespace onnxmap::bindings;
    module.doc() = "The C++ core of onnxmap. Use the package onnxmap instead.";
    register_errors();
    bind_schema(module);
    bind_document(module);
    bind_lists(module);
    bind_value_lists(module);
    bind_unknown_fields(module);
    bind_proto_view(module);
    bind_field_mappings(module);
    bind_messages(module);
    bind_new_messages(module);
    bind_message_values(module);
    bind_graph(module);
    bind_initializers(module);
    bind_sparse_initializers(module);
    bind_tensor(module);
    bind_sparse_tensor(module);
    bind_neighbours(module);
    bind_checksums(module);
    bind_bulk(module);
    bind_check(module);
    bind_compare(module);
    bind_kernels(module);
    bind_file_moves(module);
    bind_save(module);
    bind_stats(module);
    bind_surgery(module);
    module.def("add_setter", detail::add_setter, py::arg("cls"), py::arg("name"), py::arg("setter"),
               "Let a function of an object and a value set a property.");
    module.def("seal", seal_classes,
               "Keep the classes from being changed, once they have all methods.");
}
