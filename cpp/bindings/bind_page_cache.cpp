// What of a model's tensors is in the page cache: whether it is, and how it gets there or leaves.
#include <cstdint>
#include <vector>

#include "base/byte_ranges.hpp"
#include "bindings/bind.hpp"
#include "bindings/initializer_names.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bulk/tensor_pages.hpp"

namespace onnxmap::bindings {

namespace {

// Calls prefetch or evict of bulk/tensor_pages.hpp.
template <auto work>
void for_tensors(const Initializers& self, const py::object& names) {
    const auto selected = select_tensors(self, names);
    const WithoutLock unlocked;
    below_guard(self, [&] { work(selected.list(), selected.positions, poll_signals); });
}

// For each tensor by name, how many of its bytes are in memory, and how many it has.
py::dict residency(const Initializers& self, const py::object& names) {
    // First the ranges of the model's own file that are not in memory: finding the tensors reads
    // pages.
    const ByteRanges absent = without_lock(
        [&] { return below_guard(self, [&] { return bulk::absent_ranges(*self.document); }); });
    const auto selected = select_tensors(self, names);
    const std::vector<bulk::ResidentBytes> found = without_lock([&] {
        return below_guard(self, [&] {
            return bulk::residency(selected.list(), selected.positions, absent, poll_signals);
        });
    });
    return below_guard(self, [&] {
        py::dict result;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const model::Tensor tensor(*self.document, selected.list().at(selected.positions[i]));
            result[to_str(tensor.header().name)] =
                py::make_tuple(found[i].resident, found[i].total);
        }
        return result;
    });
}

}  // namespace

void bind_page_cache(GuardedClass<Initializers>& cls) {
    cls.def("_prefetch", unguarded(for_tensors<bulk::prefetch>), py::arg("names"),
            "See `Model.prefetch`.")
        .def("_evict", unguarded(for_tensors<bulk::evict>), py::arg("names"), "See `Model.evict`.")
        .def("_residency", unguarded(residency), py::arg("names"),
             "Return the resident bytes and all bytes of each tensor by name; see "
             "`Model.residency`.");
}

}  // namespace onnxmap::bindings
