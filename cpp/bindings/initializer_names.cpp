#include "bindings/initializer_names.hpp"

#include <string>
#include <unordered_set>

#include "bindings/guarded.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

bool has_name(const Initializers& self, const py::object& name) {
    const auto text = name_in_file(name);
    return text && self.graph()->initializers().contains(*text);
}

bool has_name(const SparseInitializers& self, const py::object& name) {
    const auto text = name_in_file(name);
    return text && self.graph()->sparse_initializer_names().contains(*text);
}

std::uint64_t count_names(const Initializers& self) {
    return self.graph()->initializers().name_count();
}

std::uint64_t count_names(const SparseInitializers& self) {
    return self.graph()->sparse_initializer_names().count();
}

std::uint32_t position_of(const model::Initializers& list, const py::object& name) {
    if (const auto text = name_in_file(name)) {
        if (const auto found = list.position(*text)) return *found;
    }
    return position_of(list.names(), name);
}

py::object item_of(const Initializers& self, const py::object& name) {
    const auto graph = self.graph();
    const model::Initializers& list = graph->initializers();
    return wrap_message({self.document, list.at(position_of(list, name))});
}

py::object item_of(const SparseInitializers& self, const py::object& name) {
    const auto graph = self.graph();
    const std::uint32_t position = position_of(graph->sparse_initializer_names(), name);
    return wrap_message({self.document, graph->sparse_initializer(position)});
}

py::list names_of(const Initializers& self) {
    return to_list(self.graph()->initializers().names().distinct());
}

py::list names_of(const SparseInitializers& self) {
    return to_list(self.graph()->sparse_initializer_names().distinct());
}

py::object selected_names(const Initializers& self, const py::object& names) {
    if (names.is_none()) return names_of(self);
    if (py::isinstance<py::bytes>(names)) {
        throw py::type_error("names must be a str or a list of str, not bytes");
    }
    if (!py::isinstance<py::str>(names)) return names;
    const bool is_glob = to_printable(names).find_first_of("*?[") != std::string::npos;
    if (is_glob && !has_name(self, names)) {
        return python_object<"fnmatch", "filter">()(names_of(self), names);
    }
    py::list single;
    single.append(names);
    return single;
}

SelectedTensors select_tensors(const Initializers& self, const py::object& names,
                               bool release_pages) {
    below_guard(self, [&] { self.graph()->initializers().read_names(release_pages); });
    // The names of an iterable may come from code that edits the graph: it runs before the
    // look-ups.
    const py::object wanted =
        names.is_none() ? py::object()
                        : py::list(below_guard(self, [&] { return selected_names(self, names); }));
    return below_guard(self, [&] {
        SelectedTensors selected{self.graph(), {}};
        if (!wanted) {
            selected.positions = selected.list().names().positions();
            return selected;
        }
        std::unordered_set<std::uint32_t> seen;
        for (const py::handle name : wanted) {
            const std::uint32_t position =
                position_of(selected.list(), py::reinterpret_borrow<py::object>(name));
            if (seen.insert(position).second) selected.positions.push_back(position);
        }
        return selected;
    });
}

}  // namespace onnxmap::bindings
