// The values of a graph or function: who makes them, who uses them, and what type they have.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/bind.hpp"
#include "bindings/list_names.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/renaming.hpp"
#include "model/graph.hpp"

namespace onnxmap::bindings {

namespace {

py::object wrap(const Handle& self, onnx::Message message) {
    return wrap_message({self.document, std::move(message)});
}

template <class Body>
py::object producer(const Body& self, const py::object& value) {
    const auto body = self.node_values();
    static_cast<void>(self.document->check_for_changes());
    auto node = body->producer(value_name(value));
    return node ? wrap(self, *std::move(node)) : py::none();
}

template <class Body>
py::list uses(const Body& self, const py::object& value) {
    const auto body = self.node_values();
    static_cast<void>(self.document->check_for_changes());
    return list_of(body->users(value_name(value)), [&](model::UserOfValue& use) {
        return py::make_tuple(wrap(self, std::move(use.message)), use.index);
    });
}

template <class Body>
py::list consumers(const Body& self, const py::object& value) {
    const auto body = self.node_values();
    static_cast<void>(self.document->check_for_changes());
    py::list found;
    std::optional<onnx::Message> last;
    for (model::UserOfValue& use : body->users(value_name(value))) {
        if (!model::is_node(use.message) || (last && last->is(use.message))) continue;
        last = use.message;
        found.append(wrap(self, std::move(use.message)));
    }
    return found;
}

template <class Body>
py::list topological_order(const Body& self) {
    const auto body = self.node_values();
    static_cast<void>(self.document->check_for_changes());
    return list_of(body->topological_order(),
                   [&](std::uint32_t position) { return wrap(self, body->node(position)); });
}

template <class Body>
py::object value(const Body& self, const py::object& name) {
    const auto body = self.node_values();
    auto found = body->value(value_name(name));
    return found ? wrap(self, std::move(*found)) : py::none();
}

py::list inputs(const Graph& self, bool with_default) {
    const auto graph = self.graph();
    return list_of(graph->inputs(with_default),
                   [&](onnx::Message& input) { return wrap(self, std::move(input)); });
}

template <class Body>
void bind_values(GuardedClass<Body>& cls) {
    cls.def("producer", producer<Body>, py::arg("value"),
            R"(Return the node whose outputs include `value`, or None.

A subgraph sees the values of the graphs around it: if it does not make `value`, the node may be in
one of them. A value without a producer is an input, an initializer, or not visible here.

The first call of this method, `consumers` or `uses` reads all nodes. Later calls look a name up;
after an edit they read the nodes that were edited.

Raises:
    ParseError: `model.duplicate_name`: several nodes have an output of this name.)")
        .def("consumers", consumers<Body>, py::arg("value"),
             R"(Return the nodes that have `value` among their inputs, in order, each once.

Nodes in subgraphs are included. Outputs of graphs are not nodes; `uses` lists them as well.)")
        .def("_uses", uses<Body>, py::arg("value"), "Return the arguments of each `types.Use`.")
        .def(
            "value", value<Body>, py::arg("name"),
            R"(Return the ValueInfo of an input, an output or a value between nodes; None without one.

In a subgraph, the value may be one of the graphs around it. The inputs and outputs of functions have
names only.

Raises:
    ParseError: `model.duplicate_name`: several of them have this name.)")
        .def("topological_order", topological_order<Body>,
             R"(Return the nodes in an order in which each follows the nodes whose outputs it uses.

The uses of its subgraphs count as well. Nodes that are already in such an order keep it.

Raises:
    ParseError: `model.cycle`: there is no such order. `model.duplicate_name`: several nodes have an
        output of the same name.)");
}

py::dict dimension_params(const Graph& self) {
    py::dict found;
    for (const auto& [name, uses] : self.graph()->dimension_params()) {
        found[to_str(name)] = list_of(
            uses, [](const auto& use) { return py::make_tuple(to_str(use.value), use.axis); });
    }
    return found;
}

}  // namespace

void bind_function_values(GuardedClass<Function>& cls) {
    bind_values(cls);
    bind_surgery(cls);
}

void bind_graph_values(GuardedClass<Graph>& cls) {
    bind_values(cls);
    bind_surgery(cls);
    cls.def("_rename", guarded_edits([](const Graph& self, const py::dict& new_names) {
                rename_values(self, model::Renaming::Of::all_values, new_names);
            }),
            py::arg("new_names"), "Rename values by their old names.");
    cls.def_property_readonly(
           "required_inputs", [](const Graph& self) { return inputs(self, false); },
           "The inputs that a caller must give: those without an initializer of their name.")
        .def_property_readonly(
            "overridable_inputs", [](const Graph& self) { return inputs(self, true); },
            "The inputs that a caller may give: an initializer of their name is their default.")
        .def_property_readonly("dimension_params", dimension_params,
                               R"(The names of dimensions, with the values and axes that have them.

A dict by name, in the order of first use. Each name has a list of pairs: the name of an input, an
output or an inner value of this graph, and the axis. For a sequence, a map or an optional, the axis is
that of its elements. Placeholders such as `?` are no names; see `ValueInfo.shape`.)");
}

}  // namespace onnxmap::bindings
