#include "bindings/sealed_classes.hpp"

#include <pybind11/pybind11.h>

#include <string_view>
#include <vector>

#include "bindings/native_class.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

namespace {

PyObject* refuse(PyTypeObject* type) noexcept {
    const std::string_view name(type->tp_name);
    const bool is_ours = name.starts_with("onnxmap.");  // not a class of pybind11
    PyErr_Format(
        PyExc_TypeError,
        "cannot make, copy or pickle %s%s: onnxmap makes its objects when it loads a file. "
        "Pass on the path and load it again, or pickle what has a pickle: the Model, a "
        "Graph, a Tensor, a Node or another message, list(graph.nodes), "
        "dict(model.initializers)",
        is_ours ? "onnxmap." : "an object of onnxmap",
        is_ours ? name.data() + name.rfind('.') + 1 : "");
    return nullptr;
}

extern "C" PyObject* call_new(PyObject*, PyObject* arguments, PyObject*) {
    PyObject* const type = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : nullptr;
    const bool is_type = type != nullptr && PyType_Check(type) != 0;
    return refuse(is_type ? reinterpret_cast<PyTypeObject*>(type) : &PyBaseObject_Type);
}

extern "C" PyObject* call_method(PyObject* self, PyObject*, PyObject*) {
    return refuse(Py_TYPE(self));
}

extern "C" PyObject* new_class(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_TypeError,
                    "onnxmap's classes cannot be subclassed; keep the object in an attribute");
    return nullptr;
}

template <auto function>
PyMethodDef method(const char* name) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
            METH_VARARGS | METH_KEYWORDS, nullptr};
}

// CPython keeps the pointers, so the definitions must be static.
PyMethodDef refused_new = method<call_new>("__new__");
PyMethodDef refused_init = method<call_method>("__init__");
PyMethodDef refused_reduce = method<call_method>("__reduce__");
PyMethodDef refused_setstate = method<call_method>("__setstate__");

void add_method(PyTypeObject* type, PyMethodDef& method) {
    py::setattr(reinterpret_cast<PyObject*>(type), method.ml_name,
                owned(PyDescr_NewMethod(type, &method)));
}

// Does not use setattr, which would change `tp_new` of all classes: pybind11 recognizes its classes
// by `tp_new`.
void add_new(PyTypeObject* type) {
    const auto made = py::reinterpret_steal<py::object>(PyCFunction_New(&refused_new, nullptr));
    const auto method = py::reinterpret_steal<py::object>(PyStaticMethod_New(made.ptr()));
    if (!method || PyDict_SetItemString(type->tp_dict, refused_new.ml_name, method.ptr()) != 0) {
        throw py::error_already_set();
    }
}

// The native classes, in no order. Only the import of the module writes to it.
std::vector<PyTypeObject*>& native_types() {
    static constinit std::vector<PyTypeObject*> types;
    return types;
}

}  // namespace

extern "C" PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) { return refuse(type); }

void refuse_copies(PyTypeObject* type) {
    for (PyMethodDef* each : {&refused_init, &refused_reduce, &refused_setstate}) {
        add_method(type, *each);
    }
    native_types().push_back(type);
}

void seal_classes() {
    auto& internals = py::detail::get_internals();
    // No other module shares these two: see PYBIND11_STDLIB in cpp/CMakeLists.txt.
    auto* const base = reinterpret_cast<PyTypeObject*>(internals.instance_base);
    PyTypeObject* const metaclass = internals.default_metaclass;
    // The class of a bound function's `__self__`.
    PyTypeObject* const function_record = py::detail::get_function_record_PyTypeObject();

    add_method(base, refused_reduce);  // Tensor has its own
    add_method(base, refused_setstate);
    add_new(base);
    base->tp_new = refuse_new;
    function_record->tp_new = refuse_new;
    metaclass->tp_new = new_class;

    std::vector<PyTypeObject*> types{base, function_record};
    for (const auto& [type, info] : internals.registered_types_py) types.push_back(type);
    for (PyTypeObject* const type : types) add_method(type, refused_init);

    types.push_back(metaclass);
    types.insert(types.end(), native_types().begin(), native_types().end());
    for (PyTypeObject* const type : types) {
        PyType_Modified(type);
        // Also keeps Python from giving an object another class.
        type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    }
}

}  // namespace onnxmap::bindings
