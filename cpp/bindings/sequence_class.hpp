// Lazy, immutable sequences: the methods shared by the lists of messages and of unknown fields.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "bindings/guarded.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Specialise it for each class of lists. `core(list)` is the core's list, with count(), at() and a
/// Cursor. `element(list, found)` makes the Python object of an element that the core finds.
/// `named(list, object)` is the element that an object means that is no index. `edits(list)` counts
/// edits of the document, and `is_removed(list, found)` is asked for an element if there were some
/// during a loop.
template <class List>
struct ListTraits;

template <class List>
using CoreOf = std::remove_cvref_t<decltype(ListTraits<List>::core(std::declval<List>()))>;

template <class List>
struct ListIterator {
    using Core = CoreOf<List>;

    explicit ListIterator(const List& list_)
        : list(list_),
          edits(ListTraits<List>::edits(list)),
          core(ListTraits<List>::core(list)),
          cursor(core) {}

    // What the loop does not find in the list any more, although it was there when it began.
    template <class Element>
    [[nodiscard]] bool leaves_out(const Element& element) const {
        return ListTraits<List>::edits(list) != edits &&
               ListTraits<List>::is_removed(list, element);
    }

    List list;
    std::uint64_t edits;
    Core core;  // as it was when the iteration began
    typename Core::Cursor cursor;
};

template <class List>
py::ssize_t length(const List& list) {
    return static_cast<py::ssize_t>(ListTraits<List>::core(list).count());
}

template <class List>
PyObject* iterate(PyObject* self) {
    return call_for_python([&] {
        const List& list = cpp_value<List>(self);
        return below_guard(list, [&] { return make_object<ListIterator<List>>(list); });
    });
}

// Finds the next element that is still in the list. The edits of one that is not were released if
// no object stands for it: then it cannot be read.
template <class List, class Element>
bool find_next(ListIterator<List>& iterator, Element& element) {
    while (true) {
        try {
            if (!iterator.cursor.next(element)) return false;
            if (!iterator.leaves_out(element)) return true;
        } catch (const Error& error) {
            if (error.code != "edit.concurrent") throw;
        }
    }
}

// Returns null without an error after the last element. Threads may share an iterator, as they may
// share any Python object.
template <class List>
PyObject* next_element(PyObject* self) {
    auto& iterator = cpp_value<ListIterator<List>>(self);
    return call_for_python([&]() -> py::object {
        return below_guard(iterator.list, [&]() -> py::object {
            decltype(iterator.core.at(0)) element;
            {
                const py::scoped_critical_section lock(self);
                if (!find_next(iterator, element)) return {};
            }
            return ListTraits<List>::element(iterator.list, element);
        });
    });
}

template <class List>
Py_ssize_t length_slot(PyObject* self) {
    return number_for_python([&] {
        const List& list = cpp_value<List>(self);
        return below_guard(list, [&] { return length(list); });
    });
}

// The i-th element, from the end if `i` is negative. Another thread may edit the list meanwhile, so
// this looks at one state of it.
template <class List>
py::object item(const List& list, py::ssize_t i) {
    const auto& core = ListTraits<List>::core(list);
    const auto count = static_cast<py::ssize_t>(core.count());
    if (i < 0) i += count;
    if (i < 0 || i >= count) throw py::index_error("index out of range");
    return ListTraits<List>::element(list, core.at(static_cast<std::uint64_t>(i)));
}

/// The positions that a slice selects: `count` of them, the i-th is start + i * step.
struct Range {
    py::ssize_t start = 0;
    py::ssize_t stop = 0;
    py::ssize_t step = 0;
    py::ssize_t count = 0;
};

/// `length()` is called after the numbers of the slice were converted, which may run any code.
template <class Length>
Range range_of(const py::slice& slice, Length&& length) {
    Range range;
    if (PySlice_Unpack(slice.ptr(), &range.start, &range.stop, &range.step) != 0) {
        throw py::error_already_set();
    }
    range.count = PySlice_AdjustIndices(length(), &range.start, &range.stop, range.step);
    return range;
}

template <class List>
py::list slice(const List& list, const py::slice& given) {
    std::optional<CoreOf<List>> core;
    const Range range = range_of(given, [&] {
        core.emplace(below_guard(list, [&] { return ListTraits<List>::core(list); }));
        return static_cast<py::ssize_t>(core->count());
    });
    return below_guard(list, [&] {
        py::list items;
        for (py::ssize_t i = 0; i < range.count; ++i) {
            const auto position = static_cast<std::uint64_t>(range.start + i * range.step);
            items.append(ListTraits<List>::element(list, core->at(position)));
        }
        return items;
    });
}

template <class List>
py::object subscript(const List& list, const py::object& index) {
    if (py::isinstance<py::slice>(index))
        return slice(list, py::reinterpret_borrow<py::slice>(index));
    if (PyIndex_Check(index.ptr()) == 0) return ListTraits<List>::named(list, index);
    const py::ssize_t i = to_index(index);
    return below_guard(list, [&] { return item(list, i); });
}

template <class List>
GuardedClass<List> bind_sequence(py::module_& module, const char* name, const char* iterator_name,
                                 const char* doc) {
    const GuardedClass<ListIterator<List>> iterator(
        module, iterator_name, nullptr,
        {{Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
         {Py_tp_iternext, reinterpret_cast<void*>(next_element<List>)}});
    GuardedClass<List> cls(module, name, doc,
                           {{Py_tp_iter, reinterpret_cast<void*>(iterate<List>)},
                            {Py_sq_length, reinterpret_cast<void*>(length_slot<List>)},
                            {Py_mp_length, reinterpret_cast<void*>(length_slot<List>)}});
    cls.def("__getitem__", unguarded(subscript<List>), py::arg("index"));
    return cls;
}

}  // namespace onnxmap::bindings
