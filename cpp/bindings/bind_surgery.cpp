// The commonest edits by name: of the values of graphs and functions, and of whole models.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/list_names.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/renaming.hpp"
#include "bindings/work_and_tell.hpp"
#include "model/dimension.hpp"
#include "surgery/dedupe.hpp"
#include "surgery/extract.hpp"
#include "surgery/inline_functions.hpp"
#include "surgery/lift_constants.hpp"
#include "surgery/merge.hpp"
#include "surgery/prune.hpp"
#include "surgery/rewiring.hpp"
#include "surgery/set_dims.hpp"
#include "surgery/sort.hpp"
#include "surgery/strip.hpp"

namespace onnxmap::bindings {

namespace {

template <class Body>
std::string known_value(const Body& self, const py::object& name) {
    std::string found = value_name(name);
    const bool is_known = below_guard(self, [&] {
        const auto body = self.node_values();
        return body->makes(found) || body->is_made_around(found) || !body->users(found).empty();
    });
    if (found.empty() || !is_known) fail_unknown_value(self, name);
    return found;
}

template <class Body>
const char* where_made(const Body& self, const py::object& name, bool inside) {
    const std::string value = value_name(name);
    return below_guard(self, [&] {
        const auto body = self.node_values();
        if (body->makes(value)) return "here";
        if (body->is_made_around(value)) return "around this graph";
        return inside && body->is_made_inside(value) ? "in a subgraph" : "";
    });
}

template <class Body>
void replace_uses(const Body& self, const py::object& old, const py::object& replacement,
                  bool outputs) {
    const std::string before = known_value(self, old);
    const std::string after = known_value(self, replacement);
    below_guard(self, [&] { surgery::replace_uses(*self.node_values(), before, after, outputs); });
}

template <class Body>
void check_new_use(const Body& self, const py::object& old, const py::object& replacement,
                   bool outputs, std::uint64_t place) {
    const std::string before = known_value(self, old);
    const std::string after = value_name(replacement);
    below_guard(self,
                [&] { surgery::replace_uses(*self.node_values(), before, after, outputs, place); });
}

template <class Body>
void bypass(const Body& self, const py::object& given) {
    const auto& node = checked_value<Node>(given);
    if (node.document != self.document) {
        throw py::value_error("the node is not in this graph or function");
    }
    below_guard(self, [&] { surgery::bypass(*self.node_values(), node.message()); });
}

void add_output(const Graph& self, const py::object& value) {
    const std::string name = known_value(self, value);
    below_guard(self, [&] { surgery::add_output(*self.graph(), name); });
}

py::list list_of_names(const std::vector<std::string>& names) { return list_of(names, to_str); }

py::tuple prune(const DocumentPtr& self) {
    const surgery::Pruned gone = surgery::prune(*self);
    return py::make_tuple(list_of_names(gone.nodes), list_of_names(gone.initializers),
                          list_of_names(gone.value_infos), list_of_names(gone.functions),
                          list_of_names(gone.opset_imports));
}

py::list dedupe(const DocumentPtr& self) {
    const std::uint64_t edits = self->edits().count();
    std::vector<surgery::Duplicates> found;
    work_and_tell(0, py::none(), [&](auto&) { found = surgery::find_duplicates(*self); });
    if (self->edits().count() != edits) onnx::fail_edited_meanwhile();  // by another thread
    return list_of(surgery::merge_duplicates(*self, found), [](const auto& pair) {
        return py::make_tuple(to_str(pair.first), to_str(pair.second));
    });
}

py::list lift_constants(const DocumentPtr& self, const py::object& min_bytes) {
    const py::ssize_t least = to_index(min_bytes, PyExc_ValueError);
    if (least < 0) throw py::value_error("min_bytes is a number of bytes, 0 or more");
    return list_of_names(surgery::lift_constants(*self, static_cast<std::uint64_t>(least)));
}

std::vector<std::string> names_in(const py::list& names) {
    std::vector<std::string> found;
    for (const py::handle name : names)
        found.push_back(value_name(py::reinterpret_borrow<py::object>(name)));
    return found;
}

py::list inline_functions(const DocumentPtr& self, const py::object& names) {
    std::optional<std::vector<std::string>> chosen;
    if (!names.is_none()) chosen = names_in(py::list(names));
    return list_of_names(surgery::inline_functions(*self, chosen));
}

DocumentPtr extract(const DocumentPtr& self, const py::list& inputs, const py::list& outputs) {
    const auto given = names_in(inputs);
    const auto made = names_in(outputs);
    static_cast<void>(self->check_for_changes());
    return below_guard(self, [&] { return surgery::extract(self, given, made); });
}

DocumentPtr merge_models(const DocumentPtr& self, const DocumentPtr& other, const py::list& connect,
                         const py::str& prefix, const py::list& share) {
    surgery::MergeOptions options{{}, to_text(prefix), names_in(share)};
    for (const py::handle each : connect) {
        const auto pair = each.cast<py::tuple>();
        options.connect.emplace_back(value_name(pair[0]), value_name(pair[1]));
    }
    static_cast<void>(self->check_for_changes());
    static_cast<void>(other->check_for_changes());
    return below_guard(self, [&] {
        return below_guard(other, [&] { return surgery::merge(*self, *other, options); });
    });
}

// A number, a name, or None; a placeholder is as None.
surgery::NewDim new_dim(const py::handle& given) {
    if (given.is_none()) return {};
    if (py::isinstance<py::str>(given)) {
        std::string name = to_text(py::reinterpret_borrow<py::str>(given));
        if (name.empty()) throw py::value_error("a dimension needs a name, a number or None");
        return {std::nullopt, model::is_placeholder(name) ? "" : std::move(name)};
    }
    const py::ssize_t number = to_index(given, PyExc_ValueError);
    if (number == -1) return {};
    if (number < 0) throw py::value_error("a dimension is not negative");
    return {std::int64_t{number}, {}};
}

// A mapping of names as a dict; None: an empty one.
py::dict names_of(const py::object& given, const char* argument) {
    if (given.is_none()) return {};
    if (!py::isinstance(given, python_object<"collections.abc", "Mapping">())) {
        throw py::type_error(std::string(argument) + " is a mapping with names as keys, not " +
                             type_name(given));
    }
    return python_object<"builtins", "dict">()(given);
}

py::tuple set_dims(const DocumentPtr& self, const py::object& dims, const py::object& inputs,
                   bool constants) {
    surgery::NewDims given;
    given.constants = constants;
    for (const auto& [name, dim] : names_of(dims, "dims")) {
        given.params.emplace_back(value_name(py::reinterpret_borrow<py::object>(name)),
                                  new_dim(dim));
    }
    for (const auto& [name, dims_of_input] : names_of(inputs, "inputs")) {
        if (py::isinstance<py::str>(dims_of_input)) {
            throw py::type_error("a shape is a sequence of dimensions, not str");
        }
        std::vector<surgery::NewDim> shape;
        for (const py::handle dim : py::list(py::reinterpret_borrow<py::object>(dims_of_input)))
            shape.push_back(new_dim(dim));
        given.inputs.emplace_back(value_name(py::reinterpret_borrow<py::object>(name)),
                                  std::move(shape));
    }
    const surgery::DimReport report = surgery::set_dims(*self, given);
    const auto wrap = [&](const onnx::Message& message) { return wrap_message({self, message}); };
    py::list paths;
    py::list certain;
    for (const surgery::SizePlace& place : report.places) {
        paths.append(to_str(place.path));
        if (!constants || place.changes.empty()) continue;
        const py::list changes = list_of(place.changes, [](const auto& each) {
            return py::make_tuple(each.first, each.second);
        });
        certain.append(py::make_tuple(paths[paths.size() - 1],
                                      reinterpret_cast<std::uintptr_t>(place.maker.key()),
                                      py::tuple(changes), place.is_state, wrap(place.body),
                                      wrap(place.maker), wrap(place.user), place.input));
    }
    return py::make_tuple(list_of_names(report.value_infos), paths, certain);
}

template <class Body>
void bind_value_edits(GuardedClass<Body>& cls) {
    cls.def("replace_uses", edits(replace_uses<Body>), py::arg("old"), py::arg("new"),
            py::arg("outputs") = false,
            R"(Replace all uses of the value `old` by the value `new`.

Uses are inputs of nodes, also in subgraphs and in training, and sharding specs. The node that makes
`new` keeps its inputs, so a node can be put behind a value: insert one that makes `new` from `old`,
then call this. `old` itself stays, with its type and documentation.

Args:
    old: the name of a value that is visible in this graph or function.
    new: the name of another one.
    outputs: also replace `old` as an output, by the name and the type of `new`.

Raises:
    KeyError: there is no value of a name.
    ValueError: a node that uses `old`, or holds this graph, is or comes before the one that makes
        `new`; a subgraph that uses `old` has its own value `new`; or, with `outputs`, both are
        outputs, `new` is a value of a graph around this one or an input of the function, or
        nothing says which type and rank `new` has, which an output of the model's own graph needs.
        Or, in a function, an attribute has a graph as its default.
    ParseError: `model.duplicate_name`: several nodes make `new`.
    EditError: the graph or function was removed from its model.)")
        .def("_where_made", edits(where_made<Body>), py::arg("name"), py::arg("inside") = true,
             "Where a value has the name, also in subgraphs if `inside`; an empty str: nowhere.")
        .def("_check_new_use", edits(check_new_use<Body>), py::arg("old"), py::arg("new"),
             py::arg("outputs"), py::arg("place"),
             "Raise what replace_uses() would, if a node is inserted that makes `new`.")
        .def("bypass", edits(bypass<Body>), py::arg("node"),
             R"(Remove a node: its first input takes the place of its output.

If the output is one of the graph or function, it keeps its name, and the node that makes the input
makes it. Types of later values are not checked: `check()` compares them.

Raises:
    TypeError: it is not a node.
    ValueError: another output of the node is used; it has no first input; its output would have
        to be an input, an initializer, a value of a graph around this one, or another output; a
        subgraph that uses the output has a value of its own with the name of the input; the node
        is in another graph or function; or, in a function, an attribute has a graph as its default.
    ParseError: `model.duplicate_name`: several nodes make one of the values.
    EditError: the graph or function was removed from its model.)");
}

}  // namespace

void bind_surgery(GuardedClass<Graph>& cls) {
    bind_value_edits(cls);
    cls.def("add_output", edits(add_output), py::arg("value"),
            R"(Make a value of the graph its last output.

Its type is that of its ValueInfo, or of its initializer. In a subgraph, the node that holds it
must fit: both branches of an If need as many outputs as the node has.

Raises:
    KeyError: there is no value of this name.
    ValueError: it is an output already; it is a value of a graph around this one; or the graph is
        the model's own, and nothing says which type and rank the value has.
    EditError: the graph was removed from its model.)");
}

void bind_surgery(GuardedClass<Function>& cls) { bind_value_edits(cls); }

void bind_surgery(py::module_& module) {
    module.def("prune", guarded(edits(prune)), py::arg("document"), "See `Model.prune`.");
    module.def("sort", guarded(edits([](const DocumentPtr& self) { surgery::sort(*self); })),
               py::arg("document"), "See `Model.sort`.");
    module.def("strip",
               guarded(edits(
                   [](const DocumentPtr& self, bool doc_strings, bool metadata, bool value_infos) {
                       surgery::strip(*self, {doc_strings, metadata, value_infos});
                   })),
               py::arg("document"), py::arg("doc_strings"), py::arg("metadata"),
               py::arg("value_infos"), "See `Model.strip`.");
    module.def("lift_constants", guarded(edits(lift_constants)), py::arg("document"),
               py::arg("min_bytes"), "See `Model.lift_constants`.");
    module.def("extract", extract, py::arg("document"), py::arg("inputs"), py::arg("outputs"),
               "See `Model.extract`.");
    module.def("merge", merge_models, py::arg("a"), py::arg("b"), py::arg("connect"),
               py::arg("prefix"), py::arg("share"), "See `onnxmap.merge`.");
    module.def("set_dims", guarded(edits(set_dims)), py::arg("document"), py::arg("dims"),
               py::arg("inputs"), py::arg("constants"), "See `Model.set_dims`.");
    module.def("inline_functions", guarded(edits(inline_functions)), py::arg("document"),
               py::arg("names"), "See `Model.inline_functions`.");
    module.def("dedupe", guarded_edits(dedupe), py::arg("document"), "See `Model.dedupe`.");
}

}  // namespace onnxmap::bindings
