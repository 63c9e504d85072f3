// Saving models: plans of what is written, and writing it.
#include <pybind11/stl.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/option_names.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/save_callbacks.hpp"
#include "model/view_keys.hpp"
#include "save/append_bytes.hpp"
#include "save/check_loaded.hpp"
#include "save/named_files.hpp"
#include "save/save_models.hpp"
#include "surgery/weights_in_nodes.hpp"

namespace onnxmap::bindings {

namespace {

using save::PlanOptions;
using MustExist = save::PlannedModel::MustExist;

constexpr std::array<Choice<PlanOptions::External>, 5> kExternals{{
    {"keep", PlanOptions::External::keep},
    {"inlined", PlanOptions::External::inlined},
    {"file", PlanOptions::External::file},
    {"view", PlanOptions::External::view},
    {"weights", PlanOptions::External::weights},
}};
constexpr std::array<Choice<MustExist>, 3> kMustExist{
    {{"none", MustExist::none}, {"placed", MustExist::placed}, {"all", MustExist::all}}};

// A model that refers to the files of its values.
struct ReferencePlan {
    save::SavePlan plan;
    std::vector<save::FileContent> models = {};
};

std::unique_ptr<ReferencePlan> make_plan(const ProtoView& model, const py::bytes& location,
                                         std::uint64_t least_nbytes) {
    PlanOptions options;
    options.external = PlanOptions::External::refer;
    options.location = std::string(location);
    options.least_nbytes = least_nbytes;
    options.attributes = true;
    options.layout.look = poll_signals;
    const WithoutLock unlocked;
    auto made = std::make_unique<ReferencePlan>(ReferencePlan{save::SavePlan(std::move(options))});
    made->plan.add({model.document});
    made->models = made->plan.models({});
    return made;
}

// Calls a Python function with (done, total), and lets signals interrupt the work.
save::Progress progress_of(const py::object& progress) {
    return [progress = thread_safe(progress)](std::uint64_t done, std::uint64_t total) {
        const WithLock locked;
        check_signals();
        if (!progress->is_none()) (*progress)(done, total);
    };
}

// Writes to a function that takes bytes.
save::SinkFunction sink_of(const py::object& take) {
    return save::SinkFunction([take = thread_safe(take)](ByteView bytes) {
        const WithLock locked;
        (*take)(to_bytes(bytes));
    });
}

void write_to(const save::FileContent& parts, const py::object& take) {
    save::SinkFunction sink = sink_of(take);
    const save::Progress look = progress_of(py::none());
    const WithoutLock unlocked;
    static_cast<void>(save::write_content(parts, sink, look));
}

save::SaveRequest::Encode encoder_of(const py::object& encode) {
    if (encode.is_none()) return nullptr;
    return [encode = thread_safe(encode)](const save::FileContent& model) {
        const WithLock locked;
        const py::list taken;
        write_to(model, taken.attr("append"));
        return std::string(py::bytes((*encode)(py::bytes().attr("join")(taken))));
    };
}

// `new_sha1`: makes an object of hashlib.
std::string checksum_of(const save::FileContent& file, const py::object& new_sha1) {
    const WithLock locked;
    const py::object sha1 = new_sha1();
    write_to(file, sha1.attr("update"));
    return sha1.attr("hexdigest")().cast<std::string>();
}

PlanOptions plan_options(const py::object& options) {
    PlanOptions made;
    made.external = value_named(kExternals, options.attr("kind").cast<std::string>());
    made.location = std::string(py::bytes(options.attr("location")));
    made.least_nbytes = options.attr("size_threshold_bytes").cast<std::uint64_t>();
    made.layout.alignment = options.attr("alignment").cast<std::optional<std::uint64_t>>();
    made.layout.most_nbytes =
        options.attr("max_shard_size_bytes").cast<std::optional<std::uint64_t>>().value_or(0);
    made.layout.dedupe = is_true(options.attr("dedupe"));
    made.layout.look = poll_signals;
    using Container = save::LayoutOptions::Container;
    if (made.location.ends_with(save::kSafetensors)) {
        made.layout.container = Container::safetensors;
    }
    if (made.external == PlanOptions::External::weights) {
        made.layout.container =
            is_true(options.attr("for_numpy")) ? Container::numpy : Container::safetensors;
        if (const py::object names = options.attr("names"); !names.is_none()) {
            made.names.emplace();
            for (const py::handle name : names) {
                made.names->insert(to_text(py::reinterpret_borrow<py::str>(name)));
            }
        }
        made.metadata = is_true(options.attr("metadata"));
    }
    made.attributes = is_true(options.attr("attributes"));
    made.over_2gib = is_true(options.attr("allow_over_2gib"));
    return made;
}

// The types that Python chooses for initializers, given their names; None: the type stays.
save::TypesOf types_of(const py::object& choose) {
    if (choose.is_none()) return nullptr;
    return [choose = thread_safe(choose)](std::span<const std::string> names) {
        const WithLock locked;
        std::vector<const onnx::DataTypeInfo*> types;
        const py::object chosen = (*choose)(list_of(names, to_str));
        for (const py::handle each : chosen) {
            types.push_back(each.is_none() ? nullptr
                                           : onnx::find_data_type(each.cast<std::int32_t>()));
        }
        return types;
    };
}

save::SaveRequest request_of(const py::list& models, const py::object& options,
                             const py::object& hooks) {
    save::SaveRequest request;
    for (const auto& each : models) {
        const auto model = each.cast<py::tuple>();
        request.models.push_back({model[0].cast<ProtoView>().document, model[1].cast<std::string>(),
                                  model[2].cast<std::map<std::uint64_t, std::string>>(),
                                  value_named(kMustExist, model[3].cast<std::string>())});
    }
    request.plan = plan_options(options);
    request.plan.types_of = types_of(hooks.attr("types_of"));
    request.plan.allow_loss = is_true(options.attr("allow_loss"));
    request.plan.if_nothing = [plan = request.plan](const DocumentPtr& document) {
        surgery::refuse_if_in_nodes(document, plan);
    };
    request.files.overwrite = is_true(options.attr("overwrite"));
    request.files.replace_read_only = is_true(options.attr("replace_read_only"));
    request.files.follow_symlinks = is_true(options.attr("follow_symlinks"));
    request.files.sync = is_true(options.attr("sync"));
    request.callbacks = save_callbacks(hooks.attr("locations_in_text"));
    request.encoder_of = [hooks](std::size_t i, const std::string& path) {
        const WithLock locked;
        return encoder_of(hooks.attr("encoder_of")(i, py::bytes(path)));
    };
    request.start = [hooks](std::uint64_t total) {
        const WithLock locked;
        return progress_of(hooks.attr("start")(total));
    };
    if (const py::object new_sha1 = hooks.attr("new_sha1"); !new_sha1.is_none()) {
        request.checksum = [new_sha1](const save::FileContent& file) {
            return checksum_of(file, new_sha1);
        };
    }
    return request;
}

// A number for each path or name.
template <class Numbers>
py::dict dict_of(const Numbers& numbers) {
    py::dict made;
    for (const auto& [name, number] : numbers) made[to_str(name)] = number;
    return made;
}

py::dict save_models(const py::list& models, const py::object& options, const py::object& hooks,
                     const std::optional<std::map<std::string, std::string>>& copies,
                     bool is_message, const py::object& take) {
    save::SaveRequest request = request_of(models, options, hooks);
    if (copies) request.copies.emplace(copies->begin(), copies->end());
    request.is_message = is_message;
    save::SaveReport report;
    if (take.is_none()) {
        const WithoutLock unlocked;
        report = save::save_models(request);
    } else {
        save::SinkFunction sink = sink_of(take);
        const WithoutLock unlocked;
        report = save::write_model(request, sink);
    }
    py::dict made;
    made["files"] = list_of(report.files, to_str);
    made["bytes_written"] = report.nbytes.written;
    made["bytes_copied"] = report.nbytes.copied;
    made["bytes_referenced"] = report.referenced;
    made["unused"] = dict_of(report.unused);
    made["left_over"] = list_of(report.left_over, to_str);
    made["vanished"] = dict_of(report.vanished);
    return made;
}

py::list file_locations(const DocumentPtr& document) {
    return list_of(save::file_locations(*document),
                   [](const std::string& each) { return py::bytes(each); });
}

py::dict file_paths(const DocumentPtr& document) {
    py::dict paths;
    for (const auto& [location, path] : save::file_paths(*document)) {
        paths[to_str(location)] = path.empty() ? py::object(py::none()) : to_str(path);
    }
    return paths;
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
    py::class_<ReferencePlan>(module, "SavePlan", "A model that refers to the files of its values.")
        .def(
            "has_data", [](ReferencePlan& self) { return !self.plan.data_files().empty(); },
            "Return whether there are large values that no file has.")
        .def(
            "write_data_to",
            [](ReferencePlan& self, const py::object& take) {
                write_to(self.plan.data_files().at(0).parts, take);
            },
            py::arg("take"), "Call `take` with the bytes of these values, in order.")
        .def(
            "write_model_to",
            [](ReferencePlan& self, const py::object& take) { write_to(self.models.at(0), take); },
            py::arg("take"), "Call `take` with the bytes of the model, in order.")
        .def(
            "check_referred_files",
            [](const ReferencePlan& self) {
                const WithoutLock unlocked;
                self.plan.check_referred_files();
            },
            "Raise FileChangedError if a file to which the model refers is not what it was.")
        .def(
            "check_missing_files",
            [](const ReferencePlan& self) { self.plan.check_missing_files(); },
            "Raise the error of the first tensor whose data file does not exist.")
        .def(
            "has_external", [](const ReferencePlan& self) { return self.plan.has_external(); },
            "Return whether a file outside the model has values of it.");
    module.def("save_plan", make_plan, py::arg("model"), py::arg("location"),
               py::arg("least_nbytes"),
               R"(Plan a model whose large values refer to files.

Args:
    model: the model.
    location: the path of a new file for values that no file has, without its first slash.
    least_nbytes: smaller values stay in the model.)");
    module.attr("VIEW_KEYS") = model::kViewKeys;
    module.def("save_models", save_models, py::arg("models"), py::arg("options"), py::arg("hooks"),
               py::arg("copies") = py::none(), py::arg("is_message") = false,
               py::arg("take") = py::none(),
               R"(Write models of one folder. Return the fields of a SaveReport.

Args:
    models: the message, the path, data files by the positions of tensors whose values are in the
        model, and which external values that stay must be there: "all", "placed" by an edit,
        "none".
    options: a SaveOptions.
    hooks: what only Python can do.
    copies: by location, the new locations of data files that are copied; all others stay.
    is_message: the only message may be no model.
    take: is called with the bytes of the only model, in order, instead of any path.)");
    module.def(
        "append_bytes",
        [](const DocumentPtr& document, const py::bytes& path, const py::bytes& bytes, bool sync) {
            const auto known = document->source().identity();
            if (!known) throw py::value_error("the model is not in a local file");
            const std::string name(path);
            const std::string_view added(bytes);
            save::AppendOptions options;
            options.sync = sync;
            options.look = poll_signals;
            const WithoutLock unlocked;
            static_cast<void>(save::append_bytes(name, *known, as_bytes(added), options));
        },
        py::arg("document"), py::arg("path"), py::arg("bytes"), py::arg("sync"),
        "Append bytes to the file that a document was loaded from.");
    module.def("file_locations", guarded(file_locations), py::arg("document"),
               "Return the locations of data files and of EPContext nodes, each once.");
    module.def("file_paths", guarded(file_paths), py::arg("document"),
               "Return the path of each of these files by location; None if it is no local file.");
    module.def("rename_locations",
               guarded_edits([](const DocumentPtr& document, const py::dict& names) {
                   save::rename_locations(*document, names.cast<save::NewLocations>());
               }),
               py::arg("document"), py::arg("names"),
               "Edit a model: replace locations by new ones, both as bytes.");
    module.def("take_locations", guarded_edits(take_locations), py::arg("document"),
               "Remove the locations of tensors that also have values. Return them by position.");
    module.def(
        "check_in_place",
        [](const DocumentPtr& document) {
            const WithoutLock unlocked;
            save::check_referred(document->source(),
                                 document->store().external.folder().model_path);
        },
        py::arg("document"),
        "Raise FileChangedError if the loaded file is no longer at its path, or has changed.");
    module.def("unused_bytes", guarded([](const DocumentPtr& document) {
                   return dict_of(save::unused_bytes(*document));
               }),
               py::arg("document"),
               "Return the bytes of each external file that no tensor of a model uses, by path.");
}

}  // namespace onnxmap::bindings
