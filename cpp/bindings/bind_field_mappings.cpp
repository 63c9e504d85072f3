// The mappings of messages: attributes, metadata and other strings, and versions of operator sets.

#include "bindings/bind.hpp"
#include "bindings/display.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_mapping.hpp"
#include "bindings/mapping_class.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

namespace {

py::dict items_of(const FieldMapping& self) {
    const auto entries = entries_of(self);
    py::dict items;
    for (std::uint32_t i = 0; i < entries->names.size(); ++i) {
        items[to_str(entries->names.name(i))] = value_of(self, entries->counting[i]);
    }
    return items;
}

bool is_mapping(const py::object& object) { return py::hasattr(object, "keys"); }

template <class Mapping>
void bind_mapping(py::module_& module, const char* name, const char* doc) {
    auto cls = bind_mapping_class<Mapping>(
        module, name, doc, {"__eq__", "items", "keys", "popitem", "update", "values"});
    cls.def(
           "get",
           [](const Mapping& self, const py::object& key, const py::object& otherwise) {
               const py::object found = find_value(self, key);
               return found ? found : otherwise;
           },
           py::arg("key"), py::arg("default") = py::none(),
           "Return the value of a key, or `default`.")
        .def("setdefault", edits(set_default<Mapping>), py::arg("key"),
             py::arg("default") = py::none(),
             "Return the value of a key; if there is none, give it the default first.")
        .def("pop", edits([](const Mapping& self, const py::object& key) {
                 return pop_item(self, key, {});
             }),
             py::arg("key"), "Remove a key and return its value.")
        .def("pop", edits(pop_item<Mapping>), py::arg("key"), py::arg("default"),
             "If there is no such key, return the default.")
        .def("clear", edits([](const Mapping& self) { replace_all(self, *self.row, {}); }),
             "Remove all entries.")
        .def("__reduce__",
             [](const Mapping& self) {
                 return py::make_tuple(python_object<"builtins", "dict">(),
                                       py::make_tuple(items_of(self)));
             })
        .def("__or__",
             [](const Mapping& self, const py::object& other) {
                 return is_mapping(other) ? items_of(self) | new_dict(other)
                                          : borrowed(Py_NotImplemented);
             })
        .def("__ror__",
             [](const Mapping& self, const py::object& other) {
                 return is_mapping(other) ? new_dict(other) | items_of(self)
                                          : borrowed(Py_NotImplemented);
             })
        .def("__ior__", unguarded([](const py::object& self, const py::object& other) {
                 static_cast<void>(checked_value<Mapping>(self));
                 self.attr("update")(other);
                 return self;
             }));
    bind_repr(cls);
    bind_html(cls);
    make_generic(cls);
}

}  // namespace

void bind_field_mappings(py::module_& module) {
    bind_mapping<AttributeMapping>(module, "AttributeMapping",
                                   R"(Attributes by name, in file order.

A new value is a number, text, bytes, list, array, Tensor, Graph or type, or an Attribute, which is
copied. If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning. A copy or
a pickle is a dict.)");
    bind_mapping<OpsetMapping>(module, "OpsetMapping",
                               R"(Versions of operator sets by domain.

If a domain is repeated, its highest version counts. A copy or a pickle is a dict.)");
    bind_mapping<StringMapping>(module, "StringMapping",
                                R"(Strings by key, such as `metadata_props`.

If a key is repeated, its last value counts, and you get a RepeatedKeyWarning. A copy or a pickle is
a dict.)");
}

}  // namespace onnxmap::bindings
