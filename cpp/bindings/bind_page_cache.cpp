// The residency of a model's tensors in the page cache.
#include <pybind11/stl.h>

#include <cstdint>
#include <vector>

#include "base/byte_ranges.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bulk/tensor_pages.hpp"

namespace onnxmap::bindings {

namespace {

using Positions = std::vector<std::uint32_t>;

void prefetch(const Graph& graph, const Positions& positions) {
    const WithoutLock unlocked;
    bulk::prefetch(graph.graph()->initializers(), positions, look_for_signals);
}

void evict(const Graph& graph, const Positions& positions) {
    const WithoutLock unlocked;
    bulk::evict(graph.graph()->initializers(), positions, look_for_signals);
}

// The ranges of the model's own file that are not in memory, as pairs of begin and end.
py::list absent_pages(const Graph& graph) {
    ByteRanges absent;
    {
        const WithoutLock unlocked;
        absent = bulk::absent_ranges(*graph.document);
    }
    py::list result;
    for (const auto& range : absent) result.append(py::make_tuple(range.begin, range.end));
    return result;
}

// For each tensor, how many of its bytes are in memory, and how many it has.
py::list residency(const Graph& graph, const Positions& positions, const py::list& absent) {
    ByteRanges ranges;
    for (const py::handle range : absent) {
        const auto pair = range.cast<py::tuple>();
        ranges.add(pair[0].cast<std::uint64_t>(), pair[1].cast<std::uint64_t>());
    }
    std::vector<bulk::ResidentBytes> found;
    {
        const WithoutLock unlocked;
        found = bulk::residency(graph.graph()->initializers(), positions, ranges, look_for_signals);
    }
    py::list result(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        result[i] = py::make_tuple(found[i].resident, found[i].total);
    }
    return result;
}

}  // namespace

void bind_page_cache(GuardedClass<Graph>& cls) {
    cls.def("prefetch", prefetch, py::arg("positions"))
        .def("evict", evict, py::arg("positions"))
        .def("absent_pages", absent_pages)
        .def("residency", residency, py::arg("positions"), py::arg("absent"));
}

}  // namespace onnxmap::bindings
