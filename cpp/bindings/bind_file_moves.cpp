// Checks, renames and removes files and folders beside a save.
#include <memory>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "os/output_folder.hpp"
#include "save/destination.hpp"
#include "save/file_moves.hpp"
#include "save/folders_beneath.hpp"

namespace onnxmap::bindings {

void bind_file_moves(py::module_& module) {
    module.def(
        "check_output",
        [](const py::bytes& path, bool replace_read_only) {
            const std::string name(path);
            const WithoutLock unlocked;
            save::Destinations destinations(replace_read_only, false, false);
            static_cast<void>(destinations.find(name, save::AtOutputLink::replace));
        },
        py::arg("path"), py::arg("replace_read_only"),
        "Raise what a save to a path raises because of the object that has the name now.");
    module.def(
        "rename_file",
        [](const py::bytes& old_folder, const py::bytes& old_location, const py::bytes& new_folder,
           const py::bytes& new_location, bool sync, bool may_replace, bool replace_read_only) {
            const save::FileBeneath from{std::string(old_folder), std::string(old_location)};
            const save::FileBeneath to{std::string(new_folder), std::string(new_location)};
            const auto if_taken = !may_replace        ? save::IfTaken::refuse
                                  : replace_read_only ? save::IfTaken::replace_read_only
                                                      : save::IfTaken::replace;
            const WithoutLock unlocked;
            save::rename_file(from, to, {if_taken, sync, poll_signals});
        },
        py::arg("old_folder"), py::arg("old_location"), py::arg("new_folder"),
        py::arg("new_location"), py::arg("sync"), py::arg("may_replace") = false,
        py::arg("replace_read_only") = false,
        "Rename a file beneath a folder, under the locks that a save takes.");
    module.def(
        "remove_file",
        [](const py::bytes& folder, const py::bytes& location, bool sync) {
            const save::FileBeneath file{std::string(folder), std::string(location)};
            const WithoutLock unlocked;
            save::remove_file(file, {save::IfTaken::refuse, sync, poll_signals});
        },
        py::arg("folder"), py::arg("location"), py::arg("sync"),
        "Remove a file beneath a folder, under the lock that a save takes.");
    py::class_<save::FoldersBeneath>(module, "FoldersBeneath",
                                     "New folders for files beneath another folder.")
        .def(
            "make",
            [](save::FoldersBeneath& self, const py::bytes& folder, const py::bytes& location) {
                const std::string base = std::string(folder) + "/";
                const std::string below(location);
                const WithoutLock unlocked;
                const std::string path = base + below;
                static_cast<void>(
                    self.open(std::make_shared<const os::OutputFolder>(base, path), below, path));
            },
            py::arg("folder"), py::arg("location"),
            "Make the missing folders of a location. An error for a link on the way.")
        .def(
            "remove", [](save::FoldersBeneath& self) { self.remove(); },
            "Remove the new folders that are empty.");
    module.def(
        "folders_beneath",
        [](bool sync) { return std::make_unique<save::FoldersBeneath>(true, sync); },
        py::arg("sync"));
}

}  // namespace onnxmap::bindings
