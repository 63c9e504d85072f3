// Graphs. Whole columns are read in one call, since a Python loop over nodes costs more than the
// reading.
#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/columns.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/list_names.hpp"
#include "bindings/message_class.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/shared_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "tensor/payload.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

namespace {

// A list of make(node) for each node.
template <class Make>
py::list node_column(const Graph& self, Make&& make) {
    const auto graph = self.graph();
    return column(self, graph->node_count(), [&](auto&& append) {
        graph->for_each_node([&](const model::Node& node) { append(make(node)); });
    });
}

py::list op_types(const Graph& self) {
    SharedObjects share;
    return node_column(self, [&](const model::Node& node) -> py::object {
        const std::string_view op_type = node.op_type();
        return share(op_type, [&] { return to_str(op_type); });
    });
}

py::dict op_counts(const Graph& self) {
    static_cast<void>(self.document->check_for_changes());
    py::dict result;
    const auto graph = self.graph();
    for (const auto& [op_type, count] : graph->op_counts()) result[to_str(op_type)] = count;
    return result;
}

py::list node_names(const Graph& self) {
    return node_column(self, [](const model::Node& node) { return to_str(node.name()); });
}

// A list that for_each(append) fills with texts.
template <class ForEach>
py::list texts(ForEach&& for_each) {
    py::list found;
    for_each([&](std::string_view text) {
        const py::str item = to_str(text);
        if (PyList_Append(found.ptr(), item.ptr()) != 0) throw py::error_already_set();
    });
    return found;
}

py::list node_inputs(const Graph& self) {
    return node_column(self, [](const model::Node& node) {
        return texts([&](auto&& append) { node.for_each_input(append); });
    });
}

py::list node_outputs(const Graph& self) {
    return node_column(self, [](const model::Node& node) {
        return texts([&](auto&& append) { node.for_each_output(append); });
    });
}

void bind_columns(GuardedClass<Graph>& cls) {
    cls.def("op_types", op_types, "Return the `op_type` of each node.")
        .def("op_counts", op_counts,
             "Return how often each `op_type` occurs, the most common first.")
        .def("node_names", node_names, "Return the name of each node.")
        .def("node_inputs", node_inputs, "Return the input names of each node.")
        .def("node_outputs", node_outputs, "Return the output names of each node.");
}

}  // namespace

void bind_graph(py::module_& module) {
    auto cls = message_class<Graph>(module, "GraphProto",
                                    R"(A graph: the model's own, or one that an attribute holds.

Properties read fields; methods search, or build a new list. A node is decoded when it is used. One
call returns a whole column (`op_types()`, `node_inputs()`...), which is many times faster than a
loop.)");
    bind_fields(cls, "GraphProto", {"initializer", "sparse_initializer"},
                {{"node", "The nodes, in topological order: a sequence of Node."},
                 {"input", "The inputs: a sequence of ValueInfo."},
                 {"output", "The outputs: a sequence of ValueInfo."},
                 {"value_info", "The values between nodes: a sequence of ValueInfo."},
                 {"quantization_annotation", "A sequence of QuantizationAnnotation."},
                 {"metadata_props", "The metadata, as for Model."}});
    bind_columns(cls);
    bind_graph_values(cls);
    cls.def_property_readonly(
           "initializers", [](const Graph& self) { return Initializers{self}; },
           "The tensors by name, in file order.")
        .def_property_readonly(
            "sparse_initializers", [](const Graph& self) { return SparseInitializers{self}; },
            "The sparse tensors by the name of their values, in file order.")
        .def_property_readonly(
            "is_removed",
            [](const Graph& self) { return self.document->edits().is_removed(self.made); },
            "Whether the graph was removed from its model: it can be read, but not changed.");
}

}  // namespace onnxmap::bindings
