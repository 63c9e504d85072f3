// The values of a graph: who makes them, who uses them, what type they have, and new names.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/list_names.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "model/graph.hpp"
#include "model/rename.hpp"

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
    auto node = graph->producer(value_name(value));
    return node ? wrap(self, *std::move(node)) : py::none();
}

py::list uses(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    py::list found;
    for (model::UserOfValue& use : graph->users(value_name(value))) {
        found.append(package::use()(wrap(self, std::move(use.message)), use.index));
    }
    return found;
}

py::object first_user(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    auto user = graph->first_user(value_name(value));
    return user ? wrap(self, *std::move(user)) : py::none();
}

py::list consumers(const Graph& self, const py::object& value) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    py::list found;
    std::optional<onnx::Message> last;
    for (model::UserOfValue& use : graph->users(value_name(value))) {
        if (!model::is_node(use.message) || (last && last->is(use.message))) continue;
        last = use.message;
        found.append(wrap(self, std::move(use.message)));
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

void rename_initializers(const Graph& self, const py::dict& new_names) {
    const auto graph = self.graph();
    static_cast<void>(self.document->look_for_changes());
    // Throws an error that suggests names.
    const auto fail_unknown = [&](const py::object& name) {
        std::ignore = position_of(graph->initializers().names(), name);
    };
    std::vector<model::Renaming::Names> names;
    for (const auto& [before, after] : new_names) {
        if (!py::isinstance<py::str>(after)) {
            throw py::type_error(std::string("a name is a str, not ") +
                                 Py_TYPE(after.ptr())->tp_name);
        }
        auto known = name_in_file(py::reinterpret_borrow<py::object>(before));
        if (!known) return fail_unknown(py::reinterpret_borrow<py::object>(before));
        names.push_back({*std::move(known), to_text(py::reinterpret_borrow<py::str>(after))});
    }
    const model::Renaming renaming(*graph, std::move(names));
    if (const auto unknown = renaming.first_unknown()) return fail_unknown(to_str(*unknown));
    renaming.apply();
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
        .def("first_user", first_user, py::arg("value"),
             "Return the user of the first of uses(), or one in the training information, or None.")
        .def("uses", uses, py::arg("value"))
        .def("value", value, py::arg("name"))
        .def("rename_initializers", rename_initializers, py::arg("names"),
             R"(Rename initializers, with everything that refers to them.

Args:
    names: the new names by the old ones.

Raises:
    KeyError: no initializer has the old name; the error suggests others.
    ParseError: `model.duplicate_name`: several tensors that are not segments of one tensor have it.
    ValueError: the new name is taken, in the graph or by a value of a subgraph.)")
        .def("topological_order", topological_order)
        .def("inputs", inputs, py::arg("with_default"))
        .def("dimension_params", dimension_params);
}

}  // namespace onnxmap::bindings
