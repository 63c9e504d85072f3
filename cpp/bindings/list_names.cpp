#include "bindings/list_names.hpp"

#include <utility>

#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

std::uint32_t position_of(const model::ListNames& names, const py::object& name) {
    const auto text = name_in_file(name);
    if (text) {
        if (const auto found = names.position(*text)) return *found;
    }
    // Python compares a wrong name with a hundred names in a millisecond or two.
    constexpr std::size_t kMostCompared = 100;
    const auto likely = names.most_like(text.value_or(""), kMostCompared);
    throw_python(package::wrong_name()("key", names.what(), name, to_list(likely)));
}

std::string value_name(const py::object& name) {
    if (!py::isinstance<py::str>(name)) throw_python(package::wrong_name()("value", name));
    auto found = name_in_file(name);
    if (!found) throw py::value_error("this str is not the name of a value in any file");
    return *std::move(found);
}

}  // namespace onnxmap::bindings
