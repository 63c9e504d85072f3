// The parts that module.cpp puts together, one per subject.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

void bind_schema(py::module_& module);
void bind_document(py::module_& module);
void bind_proto_view(py::module_& module);
void bind_text_forms(py::module_& module, GuardedClass<ProtoView>& cls);
void bind_proto_bytes(GuardedClass<ProtoView>& cls);
void bind_proto_edits(GuardedClass<ProtoView>& cls);
void bind_lists(py::module_& module);
void bind_value_lists(py::module_& module);
void bind_unknown_fields(py::module_& module);
void bind_field_mappings(py::module_& module);
void bind_messages(py::module_& module);
void bind_new_messages(py::module_& module);
void bind_message_values(py::module_& module);
void bind_graph(py::module_& module);
void bind_graph_values(GuardedClass<Graph>& cls);
void bind_function_values(GuardedClass<Function>& cls);
void bind_surgery(GuardedClass<Graph>& cls);
void bind_surgery(GuardedClass<Function>& cls);
void bind_surgery(py::module_& module);
void bind_initializers(py::module_& module);
void bind_sparse_initializers(py::module_& module);
void bind_page_cache(GuardedClass<Initializers>& cls);
void bind_tensor(py::module_& module);
void bind_tensor_buffer(GuardedClass<Tensor>& cls);
void bind_tensor_values(GuardedClass<Tensor>& cls);
void bind_histogram(GuardedClass<Tensor>& cls);
void bind_tensor_exchange(GuardedClass<Tensor>& cls);
void bind_sparse_tensor(py::module_& module);
void bind_neighbours(py::module_& module);
void bind_checksums(py::module_& module);
void bind_bulk(py::module_& module);
void bind_check(py::module_& module);
void bind_compare(py::module_& module);
void bind_kernels(py::module_& module);
void bind_file_moves(py::module_& module);
void bind_save(py::module_& module);
void bind_stats(py::module_& module);

}  // namespace onnxmap::bindings
