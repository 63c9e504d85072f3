#include "bindings/python_buffer.hpp"

#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

std::string path_of_mapping(py::handle object) {
    constexpr int kMostBases = 16;
    py::object here = py::reinterpret_borrow<py::object>(object);
    for (int i = 0; i < kMostBases && here && !here.is_none(); ++i) {
        try {
            const py::object path = py::getattr(here, "filename", py::none());
            if (!path.is_none()) return to_text(py::str(path));
            here = py::getattr(here, PyMemoryView_Check(here.ptr()) ? "obj" : "base", py::none());
        } catch (const py::error_already_set&) {
            return {};
        }
    }
    return {};
}

}  // namespace onnxmap::bindings
