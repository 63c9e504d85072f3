// Saving models: plans of what is written, and writing it.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "os/found_object.hpp"
#include "save/append_bytes.hpp"
#include "save/check_loaded.hpp"
#include "save/external_use.hpp"
#include "save/folders_beneath.hpp"
#include "save/save_files.hpp"
#include "save/save_plan.hpp"
#include "save/tensor_values.hpp"
#include "save/view_keys.hpp"
#include "save/write_parts.hpp"

namespace onnxmap::bindings {

namespace {

using save::PlanOptions;

PlanOptions::External external_named(std::string_view name) {
    using enum PlanOptions::External;
    if (name == "keep") return keep;
    if (name == "inlined") return inlined;
    if (name == "file") return file;
    if (name == "view") return view;
    if (name == "refer") return refer;
    throw py::value_error("no such kind of external data: " + std::string(name));
}

save::PlannedModel::Needed needed_named(std::string_view name) {
    using enum save::PlannedModel::Needed;
    if (name == "none") return none;
    if (name == "placed") return placed;
    if (name == "all") return all;
    throw py::value_error("no such kind of needed values: " + std::string(name));
}

struct Plan {
    explicit Plan(PlanOptions options) : plan(std::move(options)) {}

    save::SavePlan plan;
    std::vector<DocumentPtr> documents;
    std::vector<save::Parts> models;  // once they are finished
};

std::unique_ptr<Plan> make_plan(std::string_view external, const py::bytes& location,
                                std::uint64_t least_nbytes, std::optional<std::uint64_t> alignment,
                                bool attributes, std::uint64_t most_nbytes, bool dedupe,
                                bool over_2gib) {
    PlanOptions options;
    options.external = external_named(external);
    options.location = std::string(location);
    options.least_nbytes = least_nbytes;
    options.alignment = alignment;
    options.attributes = attributes;
    options.most_nbytes = most_nbytes;
    options.dedupe = dedupe;
    options.over_2gib = over_2gib;
    options.look = look_for_signals;
    return std::make_unique<Plan>(std::move(options));
}

void add(Plan& self, const ProtoView& model, const py::bytes& side_location, bool is_same_folder,
         const py::bytes& view_location, const py::dict& copies, bool replaces_copies,
         const py::dict& locations, std::string_view needed) {
    save::PlannedModel planned{model.document, std::string(side_location), is_same_folder,
                               std::string(view_location)};
    for (const auto& [location, copy] : copies) {
        planned.copies.emplace(py::cast<std::string>(location), py::cast<std::string>(copy));
    }
    planned.replaces_copies = replaces_copies;
    for (const auto& [position, location] : locations) {
        planned.locations.emplace(py::cast<std::uint64_t>(position),
                                  py::cast<std::string>(location));
    }
    planned.needed = needed_named(needed);
    self.documents.push_back(model.document);
    const WithoutLock unlocked;
    self.plan.add(std::move(planned));
}

// (location, bytes, bytes of tensors, whether a file of that name may be replaced) of each file.
py::list data_files(Plan& self) {
    py::list files;
    for (const auto& file : self.plan.data_files()) {
        files.append(py::make_tuple(py::bytes(file.location), file.parts.nbytes(), file.used,
                                    file.replaces));
    }
    return files;
}

py::dict to_dict(const std::map<std::string, save::UsedBytes>& files) {
    py::dict made;
    for (const auto& [path, bytes] : files) {
        made[to_str(path)] = py::make_tuple(bytes.nbytes, bytes.used);
    }
    return made;
}

// Calls a Python function with (done, total), and lets signals interrupt the work.
save::Progress progress_of(const py::object& progress) {
    return [progress](std::uint64_t done, std::uint64_t total) {
        const WithLock locked;
        check_signals();
        if (!progress.is_none()) progress(done, total);
    };
}

// Writes parts to a function that takes bytes.
save::ByteCounts write_to(const save::Parts& parts, const py::object& take,
                          const py::object& progress) {
    const save::Progress report = progress_of(progress);
    save::SinkFunction sink([&](ByteView bytes) {
        const WithLock locked;
        take(to_bytes(bytes));
    });
    const WithoutLock unlocked;
    return save::write_parts(parts, sink, report);
}

void read_data_file(Plan& self, std::size_t i, const py::object& take) {
    write_to(self.plan.data_files().at(i).parts, take, py::none());
}

std::uint64_t nbytes_of(Plan& self) {
    std::uint64_t nbytes = 0;
    for (const save::Parts& parts : self.models) nbytes += parts.nbytes();
    for (const auto& file : self.plan.data_files()) nbytes += file.parts.nbytes();
    return nbytes;
}

std::uint64_t finish(Plan& self, const std::vector<std::string>& checksums) {
    const WithoutLock unlocked;
    self.models = self.plan.models(checksums);
    return nbytes_of(self);
}

// Replaces the bytes of a model by encode(bytes). Returns the number of bytes of all files.
std::uint64_t encode_model(Plan& self, std::size_t i, const py::object& encode) {
    save::Parts& model = self.models.at(i);
    const py::list taken;
    write_to(model, taken.attr("append"), py::none());
    const py::bytes bytes = py::bytes().attr("join")(taken);
    const py::bytes encoded = encode(bytes);
    save::Parts parts;
    parts.copy(std::string_view(encoded));
    model = std::move(parts);
    return nbytes_of(self);
}

py::tuple write_model_to(Plan& self, const py::object& take, const py::object& progress) {
    const save::ByteCounts counts = write_to(self.models.at(0), take, progress);
    return py::make_tuple(counts.written, counts.copied);
}

// The place of a file, however its folder is spelled.
std::string place_of(const std::string& path) {
    const std::string folder = save::folder_part(path);
    return os::real_path_of(folder) + "/" + path.substr(folder.size());
}

// What the documents know of the files at these paths, and the files that they were loaded from.
std::vector<save::KnownFile> known_files(const Plan& plan, const std::vector<std::string>& paths) {
    std::vector<save::KnownFile> known;
    for (const DocumentPtr& document : plan.documents) {
        const std::string& loaded_path = document->store().external.folder().model_path;
        const auto loaded = document->source().identity();
        const bool is_loaded = loaded && !loaded_path.empty();
        const std::string loaded_place = is_loaded ? place_of(loaded_path) : "";
        // The model may have been loaded through a link.
        const std::string real_place = is_loaded ? os::real_path_of(loaded_path) : "";
        if (is_loaded) known.push_back({loaded_path, *loaded});
        for (const std::string& path : paths) {
            const std::string place = place_of(path);
            const bool was_loaded = is_loaded && (place == loaded_place || place == real_place);
            if (const auto saved = document->saved().at(place)) {
                // Whoever saves to a place that was not loaded may replace whatever is there.
                known.push_back({path, *saved, was_loaded});
            } else if (was_loaded) {
                known.push_back({path, *loaded});
            }
        }
    }
    return known;
}

py::dict write(Plan& self, const std::vector<py::bytes>& model_paths, bool overwrite,
               bool replace_read_only, bool follow_symlinks, bool sync,
               const std::vector<py::bytes>& no_longer_used, const py::object& check_again,
               const py::object& progress) {
    const std::vector<std::string> paths(model_paths.begin(), model_paths.end());
    const std::string folder = save::folder_part(paths.at(0));
    std::vector<save::OutputFile> files;
    for (auto& data : self.plan.data_files()) {
        files.push_back({folder + data.location, std::move(data.parts),
                         save::OutputFile::Kind::data, data.location, data.replaces});
    }
    std::vector<save::Parts> models = std::move(self.models);
    for (std::size_t i = 0; i < models.size(); ++i) {
        files.push_back({paths.at(i), std::move(models[i]), save::OutputFile::Kind::model});
    }
    save::SaveOptions options;
    options.known = known_files(self, paths);
    options.check_again = [&] {
        const WithLock locked;
        std::vector<std::string> unused;
        for (const auto& path : py::cast<std::vector<py::bytes>>(check_again())) {
            unused.emplace_back(path);
        }
        return unused;
    };
    options.look = look_for_signals;
    options.overwrite = overwrite;
    options.replace_read_only = replace_read_only;
    options.follow_symlinks = follow_symlinks;
    for (const py::bytes& path : no_longer_used) options.no_longer_used.emplace_back(path);
    options.sync = sync;
    options.progress = progress_of(progress);
    save::SaveResult result;
    {
        const WithoutLock unlocked;
        result = save::save_files(files, options);
    }
    for (const save::KnownFile& made : result.models) {
        const auto i = std::find(paths.begin(), paths.end(), made.path) - paths.begin();
        self.documents.at(static_cast<std::size_t>(i))
            ->saved()
            .note(place_of(made.path), made.state);
    }
    py::dict report;
    report["bytes_written"] = result.nbytes.written;
    report["bytes_copied"] = result.nbytes.copied;
    py::list left_over;
    for (const std::string& path : result.left_over) left_over.append(to_str(path));
    report["left_over"] = left_over;
    return report;
}

py::dict external_use(const DocumentPtr& document) {
    return to_dict(save::external_use(*document));
}

py::list external_locations(const DocumentPtr& document) {
    py::list locations;
    for (const std::string& each : save::external_locations(*document)) {
        locations.append(py::bytes(each));
    }
    return locations;
}

py::dict take_locations(const DocumentPtr& document) {
    py::dict locations;
    for (const auto& [position, location] : save::take_locations(*document)) {
        locations[py::int_(position)] = py::bytes(location);
    }
    return locations;
}

}  // namespace

void bind_save(py::module_& module) {
    py::class_<Plan>(module, "SavePlan", "What a save writes.")
        .def("add", add, py::arg("model"), py::arg("side_location") = py::bytes(),
             py::arg("is_same_folder") = true, py::arg("view_location") = py::bytes(),
             py::arg("copies") = py::dict(), py::arg("replaces_copies") = false,
             py::arg("locations") = py::dict(), py::arg("needed") = "placed",
             R"(Add a model. Decides where the values of each tensor go.

Args:
    side_location: of the file for new values of tensors that were external; empty: there is none.
    copies: data files that are copied although the folder is the same: new locations by location.
    replaces_copies: whether files of the new locations may be replaced.
    locations: data files for values that are in the model, by the positions of the tensors.
    needed: which external values that stay must be there: "all", "placed" by an edit, "none".)")
        .def("data_files", data_files,
             "Return (location, bytes, bytes of tensors, may be replaced) of each data file.")
        .def(
            "loaded_files", [](const Plan& self) { return to_dict(self.plan.loaded_files()); },
            "Return (bytes, bytes in use) of each external file that was loaded, by path.")
        .def(
            "files_with_unused_bytes",
            [](const Plan& self) {
                return to_dict(save::with_unused_bytes(self.plan.loaded_files()));
            },
            "Return those of the loaded files whose other bytes nobody needs.")
        .def_property_readonly("referenced",
                               [](const Plan& self) { return self.plan.referenced(); })
        .def(
            "check_referred_files",
            [](const Plan& self) {
                const WithoutLock unlocked;
                self.plan.check_referred_files();
            },
            "Raise FileChangedError if a file to which the models refer is not what it was.")
        .def("read_data_file", read_data_file, py::arg("i"), py::arg("take"),
             "Call `take` with the bytes of a data file, in order.")
        .def("finish", finish, py::arg("checksums"),
             R"(Decide the bytes of all models; return the number of bytes of all files.

Args:
    checksums: the SHA-1 of each data file in hexadecimal; or an empty list, to write none.)")
        .def("encode_model", encode_model, py::arg("i"), py::arg("encode"),
             "Replace the bytes of a model by encode(bytes). Return the bytes of all files.")
        .def("write_model_to", write_model_to, py::arg("take"), py::arg("progress"),
             "Call `take` with the bytes of the model. Return the bytes written and copied.")
        .def(
            "write", write, py::arg("model_paths"), py::arg("overwrite"),
            py::arg("replace_read_only"), py::arg("follow_symlinks"), py::arg("sync"),
            py::arg("no_longer_used"), py::arg("check_again"), py::arg("progress"),
            R"(Write all files, once: the models, and the data files beneath the folder of the first.

Args:
    no_longer_used: files that are removed after that.
    check_again: called while no other process changes names, if files may not be those of before.
        Returns those of `no_longer_used` that still are. What it raises leaves the old files.)");
    module.attr("VIEW_KEYS") = save::kViewKeys;
    module.attr("SIDE_END") = py::bytes(std::string(save::kSideEnd));
    module.def("save_plan", make_plan, py::arg("external"), py::arg("location"),
               py::arg("least_nbytes"), py::arg("alignment"), py::arg("attributes"),
               py::arg("most_nbytes"), py::arg("dedupe"), py::arg("over_2gib"));
    module.def(
        "append_bytes",
        [](const DocumentPtr& document, const py::bytes& path, const py::bytes& bytes, bool sync) {
            const auto known = document->source().identity();
            if (!known) throw py::value_error("the model is not in a local file");
            const std::string name(path);
            const std::string_view added(bytes);
            save::AppendOptions options;
            options.sync = sync;
            options.look = look_for_signals;
            const WithoutLock unlocked;
            std::ignore = save::append_bytes(name, *known, as_bytes(added), options);
        },
        py::arg("document"), py::arg("path"), py::arg("bytes"), py::arg("sync"),
        "Append bytes to the file that a document was loaded from.");
    module.def("external_locations", guarded(external_locations), py::arg("document"),
               "Return the locations that the external tensors of a model name, each once.");
    module.def("take_locations", guarded(take_locations), py::arg("document"),
               "Remove the locations of tensors that also have values. Return them by position.");
    module.def("open_loaded_files",
               guarded([](const DocumentPtr& document) { save::open_loaded_files(*document); }),
               py::arg("document"),
               "Open the data files of a model as it was loaded, so that they may be replaced.");
    module.def(
        "check_in_place",
        [](const DocumentPtr& document) {
            const WithoutLock unlocked;
            save::check_referred(document->source(),
                                 document->store().external.folder().model_path);
        },
        py::arg("document"),
        "Raise FileChangedError if the loaded file is no longer at its path, or has changed.");
    module.def("external_use", guarded(external_use), py::arg("document"),
               "Return (bytes, bytes in use) of each external file of a model, by path.");
}

}  // namespace onnxmap::bindings
