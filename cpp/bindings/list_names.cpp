#include "bindings/list_names.hpp"

#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

// Python compares a wrong name with a hundred names in a millisecond or two.
constexpr std::size_t kMostCompared = 100;

}  // namespace

py::list to_list(const model::ListNames& names) {
    py::list found(names.count());
    for (std::uint32_t i = 0; i < names.count(); ++i) {
        PyList_SET_ITEM(found.ptr(), i, to_str(names.name(i)).release().ptr());
    }
    return found;
}

std::uint32_t position_of(const model::ListNames& names, const py::object& name) {
    const auto text = name_in_file(name);
    if (text) {
        if (const auto found = names.position(*text)) return *found;
    }
    py::list likely;
    for (const std::string_view each : names.most_like(text.value_or(""), kMostCompared)) {
        likely.append(to_str(each));
    }
    throw_python(package::unknown_key()(names.what(), name, likely));
}

bool has_name(const model::ListNames& names, const py::object& name) {
    const auto text = name_in_file(name);
    return text && names.contains(*text);
}

}  // namespace onnxmap::bindings
