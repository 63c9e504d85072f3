// Repeated message fields as sequences.
#include <memory>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/list_names.hpp"
#include "bindings/list_search.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

template <>
struct ListTraits<MessageList> {
    static model::MessageList core(const MessageList& list) { return *list.messages(); }

    static py::object element(const MessageList& list, const onnx::Message& message) {
        Handle handle{list.document, message};
        if (list.as_proto) return py::cast(ProtoView{std::move(handle)});
        return wrap_message(std::move(handle));
    }

    static std::uint64_t edits(const MessageList& list) { return list.document->edits().count(); }
    // The list of a removed message is what it was.
    static bool is_removed(const MessageList& list, const onnx::Message& message) {
        const model::Edits& edits = list.document->edits();
        return edits.is_removed(message) && !edits.is_removed(list.parent.message());
    }

    static std::string type_name(const MessageList& list) {
        return std::string(list.row->type_name);
    }

    static std::string element_name(const MessageList& list) {
        return list.as_proto ? type_name(list) : class_name(list.row->type_name);
    }
};

namespace {

std::shared_ptr<const model::ListNames> names_of(const MessageList& self) {
    const auto messages = self.messages();
    return messages->has_names() ? messages->names(*self.document) : nullptr;
}

py::ssize_t position_named(const MessageList& self, const py::str& name) {
    const auto messages = self.messages();
    if (!messages->has_names()) {
        throw py::type_error("list indices must be integers or slices: the elements have no names");
    }
    if (const auto text = name_in_file(name)) {
        const auto found = messages->position(*self.document, *text);
        if (found) return static_cast<py::ssize_t>(*found);
    }
    return static_cast<py::ssize_t>(position_of(*messages->names(*self.document), name));
}

py::object item_named(const MessageList& self, const py::str& name) {
    return item(self, position_named(self, name));
}

// The position as Python's integer, for an edit by name.
py::int_ index_of(const py::object& self, const py::str& name) {
    const auto& list = checked_value<MessageList>(self);
    return source::guard_reads(source_of(list),
                               [&] { return py::int_(position_named(list, name)); });
}

[[noreturn]] void fail_index(const MessageList& self, const py::object& index) {
    throw_python(package::wrong_index()(index, self.messages()->has_names()));
}

py::object no_item(const MessageList& self, const py::object& index) { fail_index(self, index); }

// Edits of the message that has a name, after those of positions and slices.
void bind_edits_by_name(GuardedClass<MessageList>& cls) {
    cls.def("__setitem__",
            unguarded([](const py::object& self, const py::str& index, const py::object& message) {
                self[index_of(self, index)] = message;
            }),
            py::arg("index"), py::arg("message"))
        .def(
            "__setitem__",
            [](const MessageList& self, const py::object& index, const py::object&) {
                fail_index(self, index);
            },
            py::arg("index"), py::arg("message"))
        .def("__delitem__", unguarded([](const py::object& self, const py::str& index) {
                 self.attr("__delitem__")(index_of(self, index));
             }),
             py::arg("index"))
        .def("__delitem__", fail_index, py::arg("index"))
        .def("pop", unguarded([](const py::object& self, const py::str& index) {
                 return py::object(self.attr("pop")(index_of(self, index)));
             }),
             py::arg("index"))
        .def("pop", no_item, py::arg("index"));
}

py::list completions(const MessageList& self) {
    const auto names = names_of(self);
    return names ? to_list(*names) : py::list();
}

}  // namespace

void bind_lists(py::module_& module) {
    auto cls = bind_sequence<MessageList>(module, "MessageList", "MessageIterator",
                                          R"(The messages of a repeated field, as a list.

It always shows the field as it is now; a loop goes on with the messages of its start, without those
that were removed since. A message is made when it is asked for, and copied when it is added. Messages
that have a name are also found by it:
`graph.nodes["conv1"]`, `"conv1" in graph.nodes`.)");
    bind_list_edits(cls);
    bind_edits_by_name(cls);
    bind_list_search(cls);
    cls.def("__getitem__", item_named, py::arg("index"))
        .def("__getitem__", no_item, py::arg("index"))
        .def("_ipython_key_completions_", completions)
        .def_property_readonly(
            "type_name",
            [](const MessageList& self) { return ListTraits<MessageList>::type_name(self); },
            "The name of the messages' type, such as NodeProto.")
        .def("_repr_html_",
             unguarded([](const py::object& self) { return package::describe_html()(self); }));
}

}  // namespace onnxmap::bindings
