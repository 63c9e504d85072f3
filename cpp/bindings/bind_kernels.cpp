// The kernels in use: for tests of each set, and for bug reports.
#include <string>

#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "kernels/kernel_set.hpp"

namespace onnxmap::bindings {

namespace {

py::list kernel_paths() {
    return list_of(kernels::supported_sets(), [](const auto* set) { return to_str(set->name); });
}

void use_kernels(std::string_view name) {
    if (!kernels::use_set(name)) {
        throw py::value_error("this processor has no kernel set named " + std::string(name));
    }
}

}  // namespace

void bind_kernels(py::module_& module) {
    module.def("kernel_paths", kernel_paths,
               "Return the names of the kernel sets that this machine can run.");
    module.def("use_kernels", use_kernels, py::arg("name"),
               "Use a kernel set from now on, in the whole process.");
    module.def(
        "kernels_in_use", [] { return to_str(kernels::kernels().name); },
        "Return the name of the kernel set in use.");
}

}  // namespace onnxmap::bindings
