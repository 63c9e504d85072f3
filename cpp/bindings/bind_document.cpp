// Opening files and buffers.
#include <algorithm>
#include <memory>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/load_options.hpp"
#include "bindings/option_names.hpp"
#include "bindings/python_buffer.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/remote.hpp"
#include "contain/location.hpp"
#include "model/inline_tensors.hpp"
#include "model/load.hpp"
#include "model/load_weights.hpp"
#include "model/message_walk.hpp"
#include "model/other_formats.hpp"
#include "model/parameters.hpp"
#include "model/tensor.hpp"
#include "os/parallel.hpp"
#include "os/processors.hpp"

namespace onnxmap::bindings {

namespace {

DocumentPtr load_file(const py::bytes& path, std::string_view message, const py::object& given,
                      const py::object& external_root, const py::bytes& folder) {
    auto options = options_of(message, given, external_root);
    options.folder = std::string(folder);
    const std::string name(path);
    const WithoutLock unlocked;
    return model::load_file(name, options.external.mode, std::move(options));
}

DocumentPtr load_buffer(const py::object& buffer, std::string_view message, const py::object& given,
                        const py::object& external_root, bool require_model) {
    const auto options = options_of(message, given, external_root);
    auto source = std::make_shared<PythonBuffer>(buffer);
    const WithoutLock unlocked;
    return model::load_source(std::move(source), options, require_model);
}

DocumentPtr load_remote(const py::object& file, std::string_view message, const py::object& given,
                        const py::object& external_root, const std::string& folder) {
    auto options = options_of(message, given, external_root);
    options.folder = folder;
    auto source = std::make_shared<source::RemoteFile>(range_reader(file));
    const WithoutLock unlocked;
    return model::load_source(std::move(source), options, options.is_model());
}

DocumentPtr load_safetensors(const py::bytes& path, const py::object& given,
                             const py::bytes& folder) {
    auto options = options_of("ModelProto", given, folder);
    options.folder = std::string(folder);
    const std::string name(path);
    const WithoutLock unlocked;
    return model::load_safetensors(name, std::move(options));
}

DocumentPtr load_remote_safetensors(const py::object& file, const std::string& location,
                                    const py::object& given, const py::object& root) {
    auto options = options_of("ModelProto", given, root);
    options.folder = options.external.root;
    auto reader = range_reader(file);
    const WithoutLock unlocked;
    return model::load_safetensors(source::open_shared(std::move(reader)), location,
                                   std::move(options));
}

// `state`: the device, inode, size and time of the file.
DocumentPtr load_beside(const py::bytes& path, const py::object& buffer, const py::object& given,
                        const py::bytes& folder, const model::FileState& state) {
    auto options = options_of("ModelProto", given, folder);
    options.folder = std::string(folder);
    auto source = std::make_shared<PythonBuffer>(buffer);
    const std::string name(path);
    const WithoutLock unlocked;
    return model::load_beside(name, std::move(source), state, std::move(options));
}

// Pairs of a path and an object for each message that for_each(visit) visits. The text of all paths
// together is bounded: in a small file, many messages may have long paths.
template <class Bound, class ForEach>
py::list with_paths(const DocumentPtr& document, ForEach&& for_each) {
    static_cast<void>(document->check_for_changes());
    py::list found;
    std::uint64_t room = document->limits().text_bytes;
    for_each([&](const std::string& path, const onnx::Message& message) {
        if (path.size() > room) {
            throw Error("limit.text_bytes",
                        "the paths of its messages are too long together; raise the limit with "
                        "limits=Limits(text_bytes=...)");
        }
        room -= path.size();
        found.append(py::make_tuple(to_str(path), Bound{{document, message}}));
    });
    return found;
}

py::list tensors(const DocumentPtr& document) {
    return with_paths<Tensor>(document,
                              [&](const auto& visit) { model::for_each_tensor(*document, visit); });
}

// For each tensor of tensors(), whether it may decide a shape.
py::list shape_tensors(const DocumentPtr& document) {
    py::list found;
    const model::InlineTensors inlines(*document);
    model::for_each_tensor(*document, [&](const std::string&, const onnx::Message& message) {
        const model::Tensor tensor(*document, message);
        std::uint64_t nbytes = message.nbytes();
        try {
            nbytes = tensor::packed_nbytes(tensor.count(), tensor.type().bits);
        } catch (const Error& error) {
            if (!error.code.starts_with("tensor.")) throw;
        }
        found.append(inlines.may_decide_shape(tensor.header(), nbytes));
    });
    return found;
}

py::list nodes(const DocumentPtr& document) {
    return with_paths<Node>(document, [&](const auto& visit) {
        model::for_each_node(document->root(), document->limits().depth, visit);
    });
}

py::bytes read(const DocumentPtr& document, std::uint64_t offset, std::uint64_t nbytes) {
    const source::Source& source = document->source();
    if (offset > source.size() || nbytes > source.size() - offset) {
        throw py::index_error("no such bytes in the file");
    }
    std::vector<std::uint8_t> bytes(nbytes);
    document->store().check_unchanged(source, source::kRecently);
    without_lock([&] { source::guard_reads(source, [&] { source.read(offset, bytes); }); });
    return to_bytes(bytes);
}

py::object text_form(const py::bytes& head) {
    const std::string_view form = model::text_form_of_model(as_bytes(std::string_view(head)));
    return to_str_or_none(form);
}

std::string why_not(const DocumentPtr& document) {
    const source::Source& source = document->source();
    std::vector<std::uint8_t> head(std::min<std::uint64_t>(model::kHeadBytes, source.size()));
    source.read(0, head);
    return model::why_not(head, document->root().table());
}

}  // namespace

void bind_document(py::module_& module) {
    py::class_<model::Document, std::shared_ptr<model::Document>>(module, "Document",
                                                                  "A loaded file or buffer.")
        .def_property_readonly("nbytes",
                               [](const model::Document& self) { return self.source().size(); })
        .def_property_readonly("io",
                               [](const model::Document& self) { return self.source().kind(); })
        .def_property_readonly(
            "absolute_path",
            [](const model::Document& self) {
                return py::bytes(self.store().external.folder().model_path);
            },
            "The path of a local file when it was loaded, absolute; else empty.")
        .def_property_readonly(
            "proto", [](const DocumentPtr& self) { return ProtoView{{self, self->root()}}; })
        .def("root",
             guarded([](const DocumentPtr& self) { return wrap_message({self, self->root()}); }))
        .def_property_readonly(
            "external_root",
            [](const DocumentPtr& self) { return py::bytes(self->store().external.root()); },
            "The folder or URL that external locations are relative to; empty: none.")
        .def_property_readonly("edited",
                               [](const DocumentPtr& self) { return self->edits().edited(); })
        .def("revert", guarded(edits([](const DocumentPtr& self) { self->editable().revert(); })))
        .def("tensors", guarded(tensors))
        .def("shape_tensors", guarded(shape_tensors),
             "Return for each tensor of `tensors()` whether other programs read its values to tell "
             "shapes, and only in the model.")
        .def("nodes", guarded(nodes))
        .def("num_parameters", guarded([](const DocumentPtr& self) {
                 static_cast<void>(self->check_for_changes());
                 return model::count_parameters(*self);
             }))
        .def("read", guarded(read), py::arg("offset"), py::arg("nbytes"),
             "Return bytes of the file, read anew.")
        .def(
            "why_not", guarded(why_not),
            "Return why the file is not what it was loaded as, judged by its first bytes; an empty "
            "text if it begins so.");

    module.def(
        "option_names",
        [] {
            py::dict names;
            names["link_policy"] = choice_names(kLinkPolicies);
            names["io"] = choice_names(kIoModes);
            names["check"] = choice_names(kChecks);
            return names;
        },
        "Return the names that each option with several choices accepts.");
    module.def("load_file", load_file, py::arg("path"), py::arg("message"), py::arg("options"),
               py::arg("external_root"), py::arg("folder"));
    module.def("load_remote", load_remote, py::arg("file"), py::arg("message"), py::arg("options"),
               py::arg("external_root"), py::arg("folder"));
    module.def("load_safetensors", load_safetensors, py::arg("path"), py::arg("options"),
               py::arg("folder"));
    module.def("load_remote_safetensors", load_remote_safetensors, py::arg("file"),
               py::arg("location"), py::arg("options"), py::arg("root"));
    module.def("load_beside", load_beside, py::arg("path"), py::arg("buffer"), py::arg("options"),
               py::arg("folder"), py::arg("state"),
               "Return a model in a buffer whose external data are ranges of a file of any kind.");
    module.def(
        "data_type_of",
        [](const py::object& dtype) {
            const onnx::DataTypeInfo* const type = find_type(dtype);
            return type == nullptr ? 0 : static_cast<int>(type->type);
        },
        py::arg("dtype"),
        "Return the number of the DataType of a numpy.dtype; 0 if there is none.");
    module.def("load_buffer", load_buffer, py::arg("buffer"), py::arg("message"),
               py::arg("options"), py::arg("external_root"), py::arg("require_model") = false);
    module.def(
        "looks_like",
        [](const py::bytes& head) {
            return to_str_or_none(model::looks_like(as_bytes(std::string_view(head))));
        },
        py::arg("head"), "Return the format of a file that begins with these bytes, or None.");
    module.def("text_form", text_form, py::arg("head"),
               "Return \"textproto\" or \"json\" if a file that begins with these bytes is a "
               "model in that form, else None.");
    module.def("is_stopped", os::is_stopped,
               "Return whether the core no longer needs the result of this thread's work.");
    module.def("usable_cpus", os::usable_cpus,
               "Return the number of processors that this process may run on.");
    module.def(
        "is_safe_location",
        [](const py::bytes& location) {
            return contain::is_safe_location(std::string_view(location));
        },
        py::arg("location"),
        "Return whether the text of an external location names a file that may be opened.");
}

}  // namespace onnxmap::bindings
