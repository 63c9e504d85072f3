// Lazy, immutable sequences: the methods shared by the lists of messages and of unknown fields.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "bindings/guarded.hpp"
#include "bindings/python_objects.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Specialise it for each class of lists. `core(list)` is the core's list, with count(), at() and a
/// Cursor. `element(list, found)` makes the Python object of an element that the core finds.
/// `element_name(list)` names the class of the elements.
template <class List>
struct ListTraits;

// Threads may share an iterator, as they may share any Python object.
template <class List>
class ListIterator {
  public:
    using Core = std::remove_cvref_t<decltype(ListTraits<List>::core(std::declval<List>()))>;
    using Element = decltype(std::declval<Core>().at(0));

    explicit ListIterator(const List& list) : position_(std::make_shared<Position>(list)) {}

    [[nodiscard]] const List& list() const noexcept { return position_->list; }

    bool next(Element& element) const {
        const std::lock_guard lock(position_->mutex);
        return position_->cursor.next(element);
    }

  private:
    struct Position {
        explicit Position(const List& list_)
            : list(list_), core(ListTraits<List>::core(list)), cursor(core) {}

        List list;
        Core core;  // as it was when the iteration began
        os::ForkSafeMutex mutex;
        typename Core::Cursor cursor;
    };

    std::shared_ptr<Position> position_;
};

template <class List>
py::ssize_t length(const List& list) {
    return static_cast<py::ssize_t>(ListTraits<List>::core(list).count());
}

template <class List>
py::object item(const List& list, py::ssize_t i) {
    const py::ssize_t count = length(list);
    if (i < 0) i += count;
    if (i < 0 || i >= count) throw py::index_error("index out of range");
    return ListTraits<List>::element(
        list, ListTraits<List>::core(list).at(static_cast<std::uint64_t>(i)));
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
    const Range range =
        range_of(given, [&] { return below_guard(list, [&] { return length(list); }); });
    return below_guard(list, [&] {
        py::list items;
        for (py::ssize_t i = 0; i < range.count; ++i) {
            items.append(item(list, range.start + i * range.step));
        }
        return items;
    });
}

// Compares element by element with `==`, as Python's lists do.
template <class List>
py::object equals(const py::object& self, const py::object& other) {
    if (!py::isinstance<List>(other) && !py::isinstance<py::list>(other)) {
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    }
    if (py::len(self) != py::len(other)) return py::bool_(false);
    py::iterator theirs = py::iter(other);
    for (const py::handle item : py::iter(self)) {
        if (theirs == py::iterator::sentinel() || !item.equal(*theirs)) return py::bool_(false);
        ++theirs;
    }
    return py::bool_(true);
}

// Adds the methods that collections.abc.Sequence derives from the methods of the class.
inline void derive_sequence(const py::object& cls) {
    const py::object& sequence = python_object<"collections.abc", "Sequence">();
    for (const char* name : {"__contains__", "__reversed__", "count", "index"}) {
        py::setattr(cls, name, sequence.attr(name));
    }
    py::setattr(
        cls, "__class_getitem__",
        python_object<"builtins", "classmethod">()(python_object<"types", "GenericAlias">()));
}

template <class List>
GuardedClass<List> bind_sequence(py::module_& module, const char* name, const char* iterator_name,
                                 const char* doc) {
    using Iterator = ListIterator<List>;
    GuardedClass<Iterator>(module, iterator_name)
        .def("__iter__", [](Iterator& self) -> Iterator& { return self; })
        .def("__next__", [](Iterator& self) {
            typename ListIterator<List>::Element element;
            if (!self.next(element)) throw py::stop_iteration();
            return ListTraits<List>::element(self.list(), element);
        });

    GuardedClass<List> cls(module, name, doc);
    // Lets `match` see a sequence. collections.abc.Sequence.register skips sealed classes.
    reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_flags |= Py_TPFLAGS_SEQUENCE;
    cls.def("__len__", length<List>)
        .def("__getitem__", item<List>, py::arg("index"))
        .def("__getitem__", unguarded(slice<List>), py::arg("index"))
        .def("__iter__", [](const List& self) { return Iterator(self); })
        .def("__repr__",
             [](const List& self) {
                 return "<" + std::to_string(length(self)) + " x " +
                        ListTraits<List>::element_name(self) + ">";
             })
        .def("__eq__", unguarded(equals<List>));
    derive_sequence(cls);
    return cls;
}

}  // namespace onnxmap::bindings
