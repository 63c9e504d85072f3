// Checks, renames, removes and syncs files and folders beside a save.
#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "os/output_folder.hpp"
#include "save/destination.hpp"
#include "save/folders_beneath.hpp"

namespace onnxmap::bindings {

void bind_file_moves(py::module_& module) {
    module.def(
        "check_output",
        [](const py::bytes& path, bool replace_read_only) {
            const std::string name(path);
            const WithoutLock unlocked;
            save::Destinations destinations(replace_read_only, false, false);
            std::ignore = destinations.find(name, save::AtOutputLink::replace);
        },
        py::arg("path"), py::arg("replace_read_only"),
        "Raise what a save to a path raises because of the object that has the name now.");
    module.def(
        "rename_to_new",
        [](const py::bytes& old_folder, const py::bytes& old_location, const py::bytes& new_folder,
           const py::bytes& new_location) {
            const std::array<std::string, 4> names = {
                std::string(old_folder), std::string(old_location), std::string(new_folder),
                std::string(new_location)};
            const WithoutLock unlocked;
            const save::PlaceBeneath from = save::place_beneath(names[0], names[1]);
            const save::PlaceBeneath to = save::place_beneath(names[2], names[3]);
            from.folder->rename_to_new(from.name, *to.folder, to.name, to.path);
        },
        py::arg("old_folder"), py::arg("old_location"), py::arg("new_folder"),
        py::arg("new_location"),
        "Rename a file beneath a folder. An error if the new name is taken, or for a link on the "
        "way.");
    module.def(
        "remove_file",
        [](const py::bytes& folder, const py::bytes& location) {
            const std::string base(folder);
            const std::string below(location);
            const WithoutLock unlocked;
            const save::PlaceBeneath place = save::place_beneath(base, below);
            place.folder->remove(place.name, place.path);
        },
        py::arg("folder"), py::arg("location"),
        "Remove a file beneath a folder. An error for a link on the way.");
    py::class_<save::FoldersBeneath>(module, "FoldersBeneath",
                                     "New folders for files beneath another folder.")
        .def(
            "make",
            [](save::FoldersBeneath& self, const py::bytes& folder, const py::bytes& location) {
                const std::string base = std::string(folder) + "/";
                const std::string below(location);
                const WithoutLock unlocked;
                const std::string path = base + below;
                std::ignore =
                    self.open(std::make_shared<const os::OutputFolder>(base, path), below, path);
            },
            py::arg("folder"), py::arg("location"),
            "Make the missing folders of a location. An error for a link on the way.")
        .def("remove", &save::FoldersBeneath::remove, "Remove the new folders that are empty.");
    module.def(
        "folders_beneath",
        [](bool sync) { return std::make_unique<save::FoldersBeneath>(true, sync); },
        py::arg("sync"));
    module.def(
        "sync_folder",
        [](const py::bytes& path) {
            const std::string name(path);
            const WithoutLock unlocked;
            os::OutputFolder(name, name).sync(name);
        },
        py::arg("path"), "Wait until the disk has the names of a folder, if it can tell.");
}

}  // namespace onnxmap::bindings
