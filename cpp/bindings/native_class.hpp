// Python classes whose objects hold their C++ value in place. Programs make millions of messages,
// and read a field or two of each. pybind11 allocates each value apart, notes each object in a
// table, and finds the class and the overload at each call. A loop over nodes takes more than twice
// as long that way.
//
// The methods of a native class are functions of pybind11. Its properties are descriptors of
// CPython, and what a loop does at each step is a slot. Python cannot make, copy or pickle an
// object that no code of ours gives it, and cannot subclass or change the class.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace onnxmap::bindings {

namespace py = pybind11;

/// A C++ type with a native class: it has the name of the class, which signatures show.
template <class T>
concept Native = requires { T::kClassName; };

template <class T>
struct NativeObject {
    PyObject_HEAD PyObject* weak_references;
    T value;
};

/// The class of a type, once it is bound. It is never released.
template <class T>
inline PyTypeObject* native_type = nullptr;

/// Whether an object has the class of T.
template <class T>
[[nodiscard]] bool is_a(py::handle object) noexcept {
    return Py_TYPE(object.ptr()) == native_type<T>;
}

/// The object of a new reference. Throws the Python error that is set if there is none.
template <class T = py::object>
[[nodiscard]] T owned(PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<T>(made);
}

/// The value of an object that has the class of T.
template <class T>
[[nodiscard]] T& cpp_value(py::handle object) noexcept {
    return reinterpret_cast<NativeObject<T>*>(object.ptr())->value;
}

/// The same. Throws TypeError if the object has another class, as a `self` that a caller passes
/// may.
template <class T>
[[nodiscard]] T& checked_value(py::handle object) {
    if (!is_a<T>(object)) {
        throw py::type_error(std::string("expected ") + native_type<T>->tp_name + ", not " +
                             Py_TYPE(object.ptr())->tp_name);
    }
    return cpp_value<T>(object);
}

/// A new object of a class, whose value is made of the arguments.
template <class T, class... Arguments>
[[nodiscard]] py::object make_object_of(PyTypeObject* type, Arguments&&... arguments) {
    PyObject* const made = type->tp_alloc(type, 0);
    if (made == nullptr) throw py::error_already_set();
    try {
        new (&cpp_value<T>(made)) T{std::forward<Arguments>(arguments)...};
    } catch (...) {
        type->tp_free(made);
        Py_DECREF(type);
        throw;
    }
    return py::reinterpret_steal<py::object>(made);
}

/// A new object of the class of T.
template <class T, class... Arguments>
[[nodiscard]] py::object make_object(Arguments&&... arguments) {
    return make_object_of<T>(native_type<T>, std::forward<Arguments>(arguments)...);
}

/// Raises the exception that is being handled. For functions that CPython calls.
void raise_current() noexcept;

/// What `work` returns, a new reference, or null with an error set.
template <class Work>
PyObject* call_for_python(Work&& work) noexcept {
    try {
        return py::object(work()).release().ptr();
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

/// What `work` returns, or -1 with an error set.
template <class Work>
auto number_for_python(Work&& work) noexcept -> decltype(work()) {
    try {
        return work();
    } catch (...) {
        raise_current();
        return -1;
    }
}

namespace detail {

/// Makes a class. `slots` do not have the ends of it that all native classes share.
[[nodiscard]] PyTypeObject* make_native_type(py::module_& module, const char* name, const char* doc,
                                             std::size_t nbytes, destructor dealloc,
                                             const std::vector<PyType_Slot>& slots);

/// Adds a descriptor to a class. CPython keeps the definition, which is never released.
void add_property(PyTypeObject* type, const PyGetSetDef& definition);

/// Gives a property a setter in Python: a function of the object and the value.
void add_setter(const py::object& cls, const std::string& name, const py::object& setter);

template <class T>
void dealloc(PyObject* self) noexcept {
    auto* const object = reinterpret_cast<NativeObject<T>*>(self);
    if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
    object->value.~T();
    PyTypeObject* const type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

template <class First, class T>
decltype(auto) as_first(PyObject* self) {
    if constexpr (std::is_base_of_v<py::handle, std::remove_cvref_t<First>>) {
        return py::reinterpret_borrow<py::object>(self);
    } else {
        return (cpp_value<T>(self));
    }
}

template <class Return>
py::object to_object(Return&& value) {
    if constexpr (std::is_base_of_v<py::handle, std::remove_cvref_t<Return>>) {
        return std::forward<Return>(value);
    } else {
        return py::cast(std::forward<Return>(value));
    }
}

template <class T, class Get, class Return, class First>
PyObject* get_property(PyObject* self, const Get& get, Return (*)(First)) noexcept {
    return call_for_python([&] { return to_object(get(as_first<First, T>(self))); });
}

template <class F>
using Signature = py::detail::function_signature_t<F>*;

}  // namespace detail

}  // namespace onnxmap::bindings

namespace pybind11::detail {

/// Arguments and results of functions that are the values of native objects.
template <class T>
class type_caster<T, enable_if_t<onnxmap::bindings::Native<T>>> {
  public:
    static constexpr auto name = T::kClassName;
    template <class Given>
    using cast_op_type = detail::cast_op_type<Given>;

    bool load(handle source, bool) noexcept {
        if (!onnxmap::bindings::is_a<T>(source)) return false;
        value_ = &onnxmap::bindings::cpp_value<T>(source);
        return true;
    }

    operator T*() noexcept { return value_; }   // NOLINT(google-explicit-constructor)
    operator T&() noexcept { return *value_; }  // NOLINT(google-explicit-constructor)

    static handle cast(T&& value, return_value_policy, handle) {
        return onnxmap::bindings::make_object<T>(std::move(value)).release();
    }
    static handle cast(const T& value, return_value_policy, handle) {
        return onnxmap::bindings::make_object<T>(value).release();
    }

  private:
    T* value_ = nullptr;
};

}  // namespace pybind11::detail
