// The values of a graph: who makes them, who uses them, and what type they have.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "model/graph.hpp"

namespace onnxmap::bindings {

namespace {

py::object wrap(const Graph& self, onnx::Message message) {
    return wrap_message({self.document, std::move(message)});
}

// The name of a value as the file spells it; see name_in_file().
std::string value_name(const py::object& name) {
    if (!py::isinstance<py::str>(name)) throw_python(package::not_a_name()(name));
    auto found = name_in_file(name);
    if (!found) throw py::value_error("this str is not the name of a value in any file");
    return *std::move(found);
}

py::object producer(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    const auto position = graph->uses().producer(value_name(value));
    return position ? wrap(self, graph->node(*position)) : py::none();
}

py::list uses(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    py::list found;
    for (const model::Use& use : graph->uses().uses(value_name(value))) {
        found.append(package::use()(wrap(self, graph->user(use)), use.index));
    }
    return found;
}

py::list consumers(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    py::list found;
    model::Use last{model::Use::kNone, 0};
    for (const model::Use& use : graph->uses().uses(value_name(value))) {
        const bool is_repeated = use.node == last.node && use.inner == last.inner;
        last = use;
        if (use.node == model::Use::kNone || is_repeated) continue;
        onnx::Message user = graph->user(use);
        if (model::is_node(user)) found.append(wrap(self, std::move(user)));
    }
    return found;
}

py::list topological_order(const Graph& self) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    py::list nodes;
    for (const std::uint32_t position : graph->uses().topological_order()) {
        nodes.append(wrap(self, graph->node(position)));
    }
    return nodes;
}

py::object value(const Graph& self, const py::object& name) {
    const auto graph = self.graph();
    auto found = graph->value(value_name(name));
    return found ? wrap(self, std::move(*found)) : py::none();
}

py::list inputs(const Graph& self, bool with_default) {
    const auto graph = self.graph();
    py::list found;
    for (onnx::Message& input : graph->inputs(with_default)) {
        found.append(wrap(self, std::move(input)));
    }
    return found;
}

py::list dimension_params(const Graph& self) {
    const auto graph = self.graph();
    py::list names;
    for (const std::string_view name : graph->dimension_params()) names.append(to_str(name));
    return names;
}

}  // namespace

void bind_graph_values(GuardedClass<Graph>& cls) {
    cls.def("producer", producer, py::arg("value"))
        .def("consumers", consumers, py::arg("value"))
        .def("uses", uses, py::arg("value"))
        .def("value", value, py::arg("name"))
        .def("topological_order", topological_order)
        .def("inputs", inputs, py::arg("with_default"))
        .def("dimension_params", dimension_params);
}

}  // namespace onnxmap::bindings
