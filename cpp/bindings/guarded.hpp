// Bound functions that survive the truncation of a mapped file. All their reads of the document,
// and the reads by Python and NumPy that they start, are below a guard.
#pragma once

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/edit_lock.hpp"
#include "bindings/handles.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Calls work() below a guard of the source of a document; see edit/handle.hpp.
template <class Work>
decltype(auto) below_guard(const DocumentPtr& document, Work&& work) {
    return source::guard_reads(document->source(), std::forward<Work>(work));
}

template <class F, class Return, class First, class... Rest>
auto guarded_as(F f, Return (*)(First, Rest...)) {
    return [f = std::move(f)](First first, Rest... rest) -> Return {
        return below_guard(first, [&]() -> Return {
            return f(std::forward<First>(first), std::forward<Rest>(rest)...);
        });
    };
}

/// `f`, below a guard of the source of its first argument. A function of two models guards the
/// second one itself.
template <class F>
auto guarded(F f) {
    return guarded_as(std::move(f), static_cast<py::detail::function_signature_t<F>*>(nullptr));
}

/// For functions that need no guard of their own: they read no bytes themselves, or do so with
/// below_guard(). They may call guarded functions through Python.
template <class F>
struct Unguarded {
    F function;
};
template <class F>
Unguarded<F> unguarded(F f) {
    return {std::move(f)};
}

template <class F>
F guarded(Unguarded<F> f) {
    return std::move(f.function);
}

template <class T, class First>
const DocumentPtr& document_of(const First& first) {
    if constexpr (std::is_same_v<First, DocumentPtr>) {
        return first;
    } else if constexpr (std::is_base_of_v<py::handle, First>) {
        return checked_value<T>(first).document;
    } else {
        return first.document;
    }
}

template <class T, class F, class Return, class First, class... Rest>
auto edits_as(F f, Return (*)(First, Rest...)) {
    return unguarded([f = std::move(f)](First first, Rest... rest) -> Return {
        const EditLock lock(document_of<T>(first));
        return f(std::forward<First>(first), std::forward<Rest>(rest)...);
    });
}

/// For functions that edit the document of their first argument. They read below_guard(). `T`: the
/// type of a first argument that is a Python object.
template <class T = void, class F>
auto edits(F f) {
    return edits_as<T>(std::move(f), static_cast<py::detail::function_signature_t<F>*>(nullptr));
}

/// The same for functions of a module that read in one go. From the inside: the guard of their
/// reads, the lock of the edit, and the outer guarded(), which takes off the mark of edits().
template <class F>
auto guarded_edits(F f) {
    return guarded(edits(guarded(std::move(f))));
}

/// A native class whose functions and properties are guarded, unless they are marked unguarded().
template <class T>
class GuardedClass : public py::object {
  public:
    /// `slots`: the functions that CPython calls for operators, instead of methods.
    GuardedClass(py::module_& module, const char* name, const char* doc = nullptr,
                 const std::vector<PyType_Slot>& slots = {}) {
        native_type<T> = detail::make_native_type(module, name, doc, sizeof(NativeObject<T>),
                                                  detail::dealloc<T>, slots);
        m_ptr = reinterpret_cast<PyObject*>(native_type<T>);
        inc_ref();
    }

    template <class F, class... Extra>
    GuardedClass& def(const char* name, F&& f, const Extra&... extra) {
        py::setattr(
            *this, name,
            py::cpp_function(guarded(std::forward<F>(f)), py::name(name), py::is_method(*this),
                             py::sibling(py::getattr(*this, name, py::none())), extra...));
        return *this;
    }

    template <class F>
    GuardedClass& def_property_readonly(const char* name, F&& f, const char* doc = nullptr) {
        using Get = decltype(guarded(std::forward<F>(f)));
        const auto* const kept = new Get(guarded(std::forward<F>(f)));
        detail::add_property(native_type<T>,
                             {name, getter<Get>, nullptr, doc, const_cast<Get*>(kept)});
        return *this;
    }

  private:
    template <class Get>
    static PyObject* getter(PyObject* self, void* closure) {
        return detail::get_property<T>(self, *static_cast<const Get*>(closure),
                                       detail::Signature<Get>{});
    }
};

}  // namespace onnxmap::bindings
