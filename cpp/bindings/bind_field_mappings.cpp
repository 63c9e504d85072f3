// The mappings of messages: attributes, metadata and other strings, and versions of operator sets.

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_mapping.hpp"
#include "bindings/mapping_class.hpp"

namespace onnxmap::bindings {

namespace {

template <class Mapping>
GuardedClass<Mapping> bind_mapping(py::module_& module, const char* name, const char* doc) {
    auto cls = bind_mapping_class<Mapping>(module, name, doc);
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
             "Remove all entries.");
    return cls;
}

}  // namespace

void bind_field_mappings(py::module_& module) {
    bind_mapping<AttributeMapping>(module, "AttributeMapping",
                                   R"(Attributes by name, in file order.

A new value is a number, text, bytes, list, array, Tensor, Graph or type, or an Attribute, which is
copied. If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning. A copy or
a pickle is a dict.)")
        .def_property_readonly(
            "_message", [](const AttributeMapping& self) { return ProtoView{self}; },
            "The message that has the attributes.");
    bind_mapping<OpsetMapping>(module, "OpsetMapping",
                               R"(Versions of operator sets by domain.

If a domain is repeated, its highest version counts. A copy or a pickle is a dict.)");
    bind_mapping<StringMapping>(module, "StringMapping",
                                R"(Strings by key, such as `metadata_props`.

If a key is repeated, its last value counts, and you get a RepeatedKeyWarning. A copy or a pickle is
a dict.)");
}

}  // namespace onnxmap::bindings
