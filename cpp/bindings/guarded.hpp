// Bound functions that survive the truncation of a mapped file. All their reads of the document,
// and the reads by Python and NumPy that they start, are below a guard.
#pragma once

#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

#include "bindings/handles.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The source that a bound object reads.
template <class Bound>
const source::Source& source_of(const Bound& bound) {
    static_assert(!std::is_base_of_v<py::handle, Bound>,
                  "mark the function unguarded(), and say why");
    if constexpr (std::is_same_v<Bound, DocumentPtr>) {
        return bound->source();
    } else if constexpr (requires { bound.list().document; }) {
        return bound.list().document->source();
    } else {
        return bound.document->source();
    }
}

template <class F, class Return, class First, class... Rest>
auto guarded_as(F f, Return (*)(First, Rest...)) {
    return [f = std::move(f)](First first, Rest... rest) -> Return {
        const auto call = [&]() -> Return {
            return f(std::forward<First>(first), std::forward<Rest>(rest)...);
        };
        return source::guard_reads(source_of(first), call);
    };
}

/// `f`, below a guard of the source of its first argument. A function of two models guards the
/// second one itself.
template <class F>
auto guarded(F f) {
    return guarded_as(std::move(f), static_cast<py::detail::function_signature_t<F>*>(nullptr));
}

/// For functions that read no bytes themselves and call guarded functions through Python, and for
/// edits, which read below_guard().
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

/// Calls work() below a guard of the source of a bound object. Edits do so after all Python values
/// were converted: a conversion may run any Python code.
template <class Bound, class Work>
decltype(auto) below_guard(const Bound& bound, Work&& work) {
    return source::guard_reads(source_of(bound), std::forward<Work>(work));
}

/// A class whose functions and properties are guarded, unless they are marked unguarded().
template <class Bound>
class GuardedClass : public NativeClass<Bound> {
  public:
    using NativeClass<Bound>::NativeClass;

    template <class F, class... Extra>
    GuardedClass& def(const char* name, F&& f, const Extra&... extra) {
        NativeClass<Bound>::def(name, guarded(std::forward<F>(f)), extra...);
        return *this;
    }

    template <class F>
    GuardedClass& def_property_readonly(const char* name, F&& f, const char* doc = nullptr) {
        NativeClass<Bound>::def_property_readonly(name, guarded(std::forward<F>(f)), doc);
        return *this;
    }

    template <class Get, class Set>
    GuardedClass& def_property(const char* name, Get&& get, Set&& set, const char* doc = nullptr) {
        NativeClass<Bound>::def_property(name, guarded(std::forward<Get>(get)),
                                         guarded(std::forward<Set>(set)), doc);
        return *this;
    }
};

}  // namespace onnxmap::bindings
