#include "bindings/native_class.hpp"

#include <structmember.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "bindings/sealed_classes.hpp"

namespace onnxmap::bindings {

void raise_current() noexcept { py::detail::try_translate_exceptions(); }

namespace detail {

namespace {

// Never released: CPython keeps the addresses of definitions and names.
template <class T>
T& kept_for_ever(T value) {
    return *new T(std::move(value));
}

}  // namespace

PyTypeObject* make_native_type(py::module_& module, const char* name, const char* doc,
                               std::size_t nbytes, destructor dealloc,
                               const std::vector<PyType_Slot>& slots) {
    PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET,
                              offsetof(NativeObject<char>, weak_references), READONLY, nullptr},
                             {}};
    std::vector<PyType_Slot> all;
    // CPython takes no empty slot. A template for several classes leaves some empty.
    std::ranges::copy_if(slots, std::back_inserter(all),
                         [](const PyType_Slot& slot) { return slot.pfunc != nullptr; });
    all.push_back({Py_tp_dealloc, reinterpret_cast<void*>(dealloc)});
    all.push_back({Py_tp_new, reinterpret_cast<void*>(refuse_new)});
    all.push_back({Py_tp_members, members});
    if (doc != nullptr) all.push_back({Py_tp_doc, const_cast<char*>(doc)});
    all.push_back({0, nullptr});
    const std::string& full_name =
        kept_for_ever(py::cast<std::string>(module.attr("__name__")) + "." + name);
    PyType_Spec spec{full_name.c_str(), static_cast<int>(nbytes), 0, Py_TPFLAGS_DEFAULT,
                     all.data()};
    py::object type = owned(PyType_FromSpec(&spec));
    refuse_copies(reinterpret_cast<PyTypeObject*>(type.ptr()));
    module.add_object(name, type);
    return reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

void add_property(PyTypeObject* type, const PyGetSetDef& definition) {
    PyGetSetDef& kept = kept_for_ever(definition);
    kept.name = kept_for_ever(std::string(definition.name)).c_str();
    if (kept.doc != nullptr) kept.doc = kept_for_ever(std::string(definition.doc)).c_str();
    py::setattr(reinterpret_cast<PyObject*>(type), kept.name,
                owned(PyDescr_NewGetSet(type, &kept)));
}

void add_setter(const py::object& cls, const std::string& name, const py::object& setter) {
    struct Property {
        PyGetSetDef core;
        py::object set;
    };
    const py::object found = cls.attr("__dict__")[name.c_str()];
    if (!PyType_Check(cls.ptr()) || Py_IS_TYPE(found.ptr(), &PyGetSetDescr_Type) == 0) {
        throw py::type_error("a class has no such property");
    }
    const PyGetSetDef& core = *reinterpret_cast<PyGetSetDescrObject*>(found.ptr())->d_getset;
    const getter get = [](PyObject* self, void* closure) {
        const PyGetSetDef& read = static_cast<Property*>(closure)->core;
        return read.get(self, read.closure);
    };
    const ::setter set = [](PyObject* self, PyObject* value, void* closure) {
        if (value == nullptr) {
            PyErr_SetString(PyExc_AttributeError, "a property cannot be deleted");
            return -1;
        }
        PyObject* const function = static_cast<Property*>(closure)->set.ptr();
        PyObject* const done = PyObject_CallFunctionObjArgs(function, self, value, nullptr);
        Py_XDECREF(done);
        return done == nullptr ? -1 : 0;
    };
    add_property(reinterpret_cast<PyTypeObject*>(cls.ptr()),
                 {core.name, get, set, core.doc, &kept_for_ever(Property{core, setter})});
}

}  // namespace detail

}  // namespace onnxmap::bindings
