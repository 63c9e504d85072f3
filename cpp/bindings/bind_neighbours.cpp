// Which data files the models of some folders use, and the names that data files may have.
#include <pybind11/stl.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/save_callbacks.hpp"
#include "save/data_names.hpp"
#include "save/model_files.hpp"
#include "save/neighbours.hpp"

namespace onnxmap::bindings {

namespace {

using Paths = std::vector<py::bytes>;

py::object path_or_none(const std::string* path) {
    return to_str_or_none(path == nullptr ? std::string_view() : *path);
}

save::Neighbours find_neighbours(const Paths& folders, const Paths& but, const Paths& also,
                                 const py::object& locations_in_text) {
    const save::Callbacks callbacks = save_callbacks(locations_in_text);
    const std::set<std::string> searched(folders.begin(), folders.end());
    const std::vector<std::string> left_out(but.begin(), but.end());
    const std::set<std::string> more(also.begin(), also.end());
    const WithoutLock unlocked;
    return save::find_neighbours(searched, left_out, more, callbacks);
}

py::list external_paths(const py::bytes& model, const py::object& locations_in_text) {
    const save::Callbacks callbacks = save_callbacks(locations_in_text);
    const std::string path(model);
    return list_of(without_lock([&] { return save::external_paths(path, callbacks); }), to_str);
}

bool is_plain(const py::bytes& location, const py::bytes& folder) {
    try {
        const save::Callbacks callbacks = save_callbacks(py::none());
        const std::string path(folder);
        const os::OutputFolder opened(path, path);
        return save::is_plain_location(opened, std::string(location), callbacks);
    } catch (const FileError&) {
        return false;  // there is no such folder
    }
}

py::str name_after(const py::bytes& model, const py::bytes& name, std::size_t i) {
    const save::Callbacks callbacks = save_callbacks(py::none());
    return to_str(save::data_name_after(std::string(model), std::string(name), i, callbacks));
}

}  // namespace

save::Callbacks save_callbacks(const py::object& locations_in_text) {
    save::Callbacks callbacks;
    callbacks.is_printable = [](std::string_view name) {
        const WithLock locked;
        return is_true(to_str(name).attr("isprintable")());
    };
    callbacks.locations_in_text =
        [locations_in_text](const std::string& path) -> std::optional<std::vector<std::string>> {
        const WithLock locked;
        try {
            const py::object found = locations_in_text(py::bytes(path));
            if (found.is_none()) return std::nullopt;
            return found.cast<std::vector<std::string>>();
        } catch (const py::error_already_set& error) {
            // A text that cannot be read, or protobuf is missing.
            const auto is = [&](PyObject* base) { return error.matches(base); };
            if (!is(PyExc_OSError) && !is(PyExc_ValueError) && !is(PyExc_ImportError)) throw;
            throw Error("model.text", to_printable(py::str(error.value())));
        }
    };
    callbacks.look = poll_signals;
    return callbacks;
}

void bind_neighbours(py::module_& module) {
    py::class_<save::Neighbours>(module, "Neighbours", "Models, and the data files that they use.")
        .def(
            "user_of",
            [](const save::Neighbours& self, const py::str& path) {
                return path_or_none(self.user_of(to_text(path)));
            },
            py::arg("path"),
            "Return the path of a model that is known to use this file, or this link, as data.")
        .def(
            "owner_of",
            [](const save::Neighbours& self, const py::str& path) {
                return path_or_none(self.owner_of(to_text(path)));
            },
            py::arg("path"),
            "Return the path of a model that uses this file as data, or that is this file.")
        .def_property_readonly(
            "unreadable",
            [](const save::Neighbours& self) { return to_str_or_none(self.unreadable); },
            "The path of a likely model that cannot be read, so nobody knows what it uses. Of "
            "several, the one that was changed last.");
    module.def("find_neighbours", find_neighbours, py::arg("folders"), py::arg("but"),
               py::arg("also"), py::arg("locations_in_text"));
    module.def("external_paths", external_paths, py::arg("model"), py::arg("locations_in_text"));
    module.def("is_plain_location", is_plain, py::arg("location"), py::arg("folder"));
    module.def("data_name_after", name_after, py::arg("model"), py::arg("name"), py::arg("i"));
    module.def(
        "check_data_location",
        [](const py::bytes& folder, const py::bytes& location) {
            save::check_data_location(std::string(folder), std::string(location));
        },
        py::arg("folder"), py::arg("location"));
}

}  // namespace onnxmap::bindings
