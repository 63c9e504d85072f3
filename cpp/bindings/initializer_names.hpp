// The names of a graph's tensors: look-ups, and what the `names` of bulk calls select.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/handles.hpp"
#include "bindings/list_names.hpp"

namespace onnxmap::bindings {

/// Whether a tensor has this name. False for an object that is not a str.
[[nodiscard]] bool has_name(const Initializers& self, const py::object& name);
[[nodiscard]] bool has_name(const SparseInitializers& self, const py::object& name);

/// The different names, in file order.
[[nodiscard]] py::list names_of(const Initializers& self);
[[nodiscard]] py::list names_of(const SparseInitializers& self);

/// How many different names the tensors have.
[[nodiscard]] std::uint64_t count_names(const Initializers& self);
[[nodiscard]] std::uint64_t count_names(const SparseInitializers& self);

/// The tensor of a name. Throws KeyError, which suggests names, and Error `model.duplicate_name`.
[[nodiscard]] py::object item_of(const Initializers& self, const py::object& name);
[[nodiscard]] py::object item_of(const SparseInitializers& self, const py::object& name);

/// The position of a name in the list of tensors. Throws KeyError, which suggests names, and Error
/// `model.duplicate_name`.
[[nodiscard]] std::uint32_t position_of(const model::Initializers& list, const py::object& name);

/// The names that an argument selects: None selects all, a str is a name if it exists, else a glob;
/// any other iterable is returned as it is. Throws TypeError for bytes.
[[nodiscard]] py::object selected_names(const Initializers& self, const py::object& names);

/// Some tensors of a state of the graph.
struct SelectedTensors {
    std::shared_ptr<const model::Graph> graph;
    std::vector<std::uint32_t> positions;  // each once, in the order of the names

    [[nodiscard]] const model::Initializers& list() const { return graph->initializers(); }
};

/// The tensors of those names. `release_pages`: the pages that reading the names maps are released.
[[nodiscard]] SelectedTensors select_tensors(const Initializers& self, const py::object& names,
                                             bool release_pages = false);

}  // namespace onnxmap::bindings
