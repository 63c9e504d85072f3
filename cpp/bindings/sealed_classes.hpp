// Keeps Python from making, copying and pickling objects of bound classes, and from subclassing and
// changing the classes. The bindings would use an object without its C++ value as if it had one.
// Users get a TypeError where pybind11 3.1 kills the process, even with py::is_final: three of
// three calls did, a method of `cls.__new__(cls)`, and the class of a function's `__self__` or its
// `__init__` called.
#pragma once

#include <Python.h>

namespace onnxmap::bindings {

/// The `tp_new` of a class whose objects only the core makes.
extern "C" PyObject* refuse_new(PyTypeObject* type, PyObject* arguments, PyObject* named);

/// Gives a native class the methods of a pickle, which say what to pickle instead. seal_classes()
/// seals it.
void refuse_copies(PyTypeObject* type);

/// Must be called after all classes are bound.
void seal_classes();

}  // namespace onnxmap::bindings
