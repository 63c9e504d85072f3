// The residency of a model's tensors in the page cache.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/byte_ranges.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bulk/tensor_pages.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bindings {

namespace {

std::vector<onnx::Message> tensors_at(const Graph& self, const py::list& positions) {
    std::vector<onnx::Message> tensors;
    tensors.reserve(positions.size());
    for (const py::handle position : positions) {
        tensors.push_back(self.graph->initializers().at(position.cast<std::uint64_t>()));
    }
    return tensors;
}

// Lets Ctrl-C interrupt long work.
void look_for_signals() {
    const WithLock locked;
    check_signals();
}

void prefetch(const Graph& graph, const py::list& positions) {
    const auto tensors = tensors_at(graph, positions);
    const WithoutLock unlocked;
    bulk::prefetch(*graph.document, tensors, graph.document->look_for_changes(), look_for_signals);
}

void evict(const Graph& graph, const py::list& positions) {
    const auto tensors = tensors_at(graph, positions);
    const WithoutLock unlocked;
    bulk::evict(*graph.document, tensors, graph.document->look_for_changes(), look_for_signals);
}

// The ranges of the model's own file that are not in memory, as pairs of begin and end.
py::list absent_pages(const Graph& graph) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
    {
        const WithoutLock unlocked;
        static_cast<void>(graph.document->look_for_changes());
        const source::Source& source = graph.document->source();
        source::for_each_absent(
            source, 0, source.size(),
            [&](std::uint64_t begin, std::uint64_t end) { runs.emplace_back(begin, end); });
    }
    py::list result(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        result[i] = py::make_tuple(runs[i].first, runs[i].second);
    }
    return result;
}

// For each tensor, how many of its bytes are in memory, and how many it has.
py::list residency(const Graph& graph, const py::list& positions, const py::list& absent) {
    ByteRanges ranges;
    for (const py::handle range : absent) {
        const auto pair = range.cast<py::tuple>();
        ranges.add(pair[0].cast<std::uint64_t>(), pair[1].cast<std::uint64_t>());
    }
    const auto tensors = tensors_at(graph, positions);
    std::vector<bulk::ResidentBytes> found;
    {
        const WithoutLock unlocked;
        found = bulk::residency(*graph.document, tensors, graph.document->look_for_changes(),
                                ranges, look_for_signals);
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
