// onnxmap._core: the bindings, and no logic. They convert arguments, call the core and convert the
// results.
#include <pybind11/pybind11.h>

#include "bindings/bind.hpp"
#include "bindings/errors.hpp"
#include "bindings/sealed_classes.hpp"

#ifdef ONNXMAP_SANITIZE
namespace {

// Reads one byte past a heap block, so that a test can check that the sanitizer reports it.
int planted_overrun() {
    const auto* block = new char[8]{};
    const volatile char* behind = block + 8;
    const int value = *behind;
    delete[] block;
    return value;
}

}  // namespace
#endif

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
    seal_classes();
#ifdef ONNXMAP_SANITIZE
    module.def("_planted_overrun", planted_overrun);
#endif
}
