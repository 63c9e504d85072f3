#include "bindings/renaming.hpp"

#include <string>
#include <utility>
#include <vector>

#include "bindings/guarded.hpp"
#include "bindings/list_names.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "model/captured_values.hpp"
#include "model/list_names.hpp"

namespace onnxmap::bindings {

namespace {

using Of = model::Renaming::Of;

// Throws an error that suggests names.
void fail_unknown(const Graph& self, const model::Graph& graph, Of values, const py::object& name) {
    if (values == Of::initializers) {
        static_cast<void>(position_of(graph.initializers().names(), name));
        return;
    }
    fail_unknown_value(self, name);
}

}  // namespace

void fail_unknown_value(const Handle& self, const py::object& name) {
    model::ListNames made("value", "give each a name of its own in node.outputs or proto",
                          model::NameTable::Text::viewed);
    below_guard(self, [&] {
        model::for_each_made(self.message(),
                             [&](std::string_view value, const auto&) { made.add(value); });
    });
    static_cast<void>(position_of(made, name));
}

void rename_values(const Graph& self, Of values, const py::dict& new_names) {
    const auto graph = self.graph();
    static_cast<void>(self.document->check_for_changes());
    std::vector<model::Renaming::Names> names;
    for (const auto& [before, after] : new_names) {
        if (!py::isinstance<py::str>(after)) {
            throw py::type_error("a name is a str, not " + type_name(after));
        }
        const auto given = py::reinterpret_borrow<py::object>(before);
        if (!py::isinstance<py::str>(given) && values == Of::all_values) {
            throw_python(package::wrong_name()("value", given));
        }
        auto known = name_in_file(given);
        if (!known) return fail_unknown(self, *graph, values, given);
        names.push_back({*std::move(known), to_text(py::reinterpret_borrow<py::str>(after))});
    }
    const model::Renaming renaming(*graph, std::move(names));
    if (const auto unknown = renaming.first_unknown(values)) {
        return fail_unknown(self, *graph, values, to_str(*unknown));
    }
    renaming.apply();
}

}  // namespace onnxmap::bindings
