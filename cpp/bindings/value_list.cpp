#include "bindings/value_list.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"
#include "model/field_index.hpp"

namespace onnxmap::bindings {

namespace {

// Fewer values are read again at each call: that takes no longer than to look whether the kept ones
// are still right.
constexpr std::size_t kLeastKept = 16;

// Calls visit(value) for each value of the field.
template <class Visit>
void for_each_value(const ValueList& self, const onnx::Message& message, Visit&& visit) {
    message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
        if (known != self.row) return;
        wire::Field run = found;
        run.bytes = self.document->resident(found.bytes);
        onnx::Message::unpack(*self.row, run, visit);
    });
}

py::list read_values(const ValueList& self) {
    return below_guard(self, [&] {
        py::list values;
        const onnx::Message message = self.parent.message();
        for_each_value(self, message, [&](const wire::Field& value) {
            values.append(to_python(self.document, message, *self.row, value, self.as_proto));
        });
        return values;
    });
}

}  // namespace

py::list ValueList::values() const {
    const std::uint64_t count = document->edits().count();
    {
        const std::lock_guard locked(lock);
        if (kept.values && kept.count == count) {
            return py::reinterpret_borrow<py::list>(kept.values);
        }
    }
    py::list values = read_values(*this);
    if (values.size() >= kLeastKept) {
        Kept replaced{values, count};
        const std::lock_guard locked(lock);
        std::swap(kept, replaced);
    }
    return values;
}

namespace {

bool holds_texts(const ValueList& self) noexcept {
    return self.row->wire_type() == wire::WireType::length_delimited;
}

// The fields of a message in which one text is found without a walk over all; null for another
// message, and for numbers: a run may hold many.
std::shared_ptr<const model::FieldIndex> indexed(const ValueList& self) {
    if (!holds_texts(self)) return nullptr;
    const onnx::Message message = self.parent.message();
    if (!message.edited() && !model::Document::is_large(message)) return nullptr;
    return self.document->index(message);
}

std::size_t count_of(const ValueList& self) {
    if (!holds_texts(self)) return self.values().size();
    return below_guard(self, [&]() -> std::size_t {
        if (const auto fields = indexed(self)) return fields->count(*self.row);
        std::size_t count = 0;
        self.parent.message().for_each_field(
            [&](const wire::Field&, const wire::FieldRow* row) { count += row == self.row; });
        return count;
    });
}

Py_ssize_t count_slot(PyObject* self) {
    try {
        return static_cast<Py_ssize_t>(count_of(cpp_value<ValueList>(self)));
    } catch (...) {
        raise_current();
        return -1;
    }
}

PyObject* iterate_values(PyObject* self) {
    return call_for_python([&] { return py::iter(cpp_value<ValueList>(self).values()); });
}

// The first and the last values that two lists have in common.
struct Common {
    std::size_t first;
    std::size_t last;
};

Common common_ends(const py::list& before, const py::list& after) {
    const std::size_t most = std::min(before.size(), after.size());
    const auto same = [&](std::size_t i, std::size_t k) {
        return PyList_GET_ITEM(before.ptr(), static_cast<py::ssize_t>(i)) ==
               PyList_GET_ITEM(after.ptr(), static_cast<py::ssize_t>(k));
    };
    Common common{0, 0};
    while (common.first < most && same(common.first, common.first)) ++common.first;
    while (common.first + common.last < most &&
           same(before.size() - 1 - common.last, after.size() - 1 - common.last)) {
        ++common.last;
    }
    return common;
}

// Whether no run holds several values, and none is written: ONNX packs the numbers of tensors only.
bool are_single_fields(const ValueList& self) {
    bool found = !self.row->packed;
    self.parent.message().for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        found = found && (row != self.row || each.type == row->wire_type());
    });
    return found;
}

// Writes a changed copy of the values `before`. Values that are fields of their own stay as they
// are stored.
void write(const ValueList& self, const EditWatch& watch, const py::list& before,
           const py::list& after) {
    const wire::FieldRow& row = *self.row;
    const bool are_single = below_guard(self, [&] { return are_single_fields(self); });
    const auto [first, last] = are_single ? common_ends(before, after) : Common{0, 0};
    const py::slice changed(static_cast<py::ssize_t>(first),
                            static_cast<py::ssize_t>(after.size() - last), 1);
    const auto encoded = encode_all(row, after[changed]);
    watch.check();
    below_guard(self, [&] {
        const onnx::Message message = to_change(self.parent);
        if (are_single) {
            model::splice_values(*self.document, message, row, first, before.size() - last - first,
                                 encoded);
        } else {
            model::set_values(*self.document, message, row, encoded);
        }
    });
}

// Calls a method of a copy of the list, as `list.insert(i, x)`, and writes the copy.
py::object change(const ValueList& self, const char* method, const py::tuple& arguments,
                  const py::dict& named = {}) {
    const EditWatch watch(self.parent);
    const py::list before = self.values();
    const py::list copy(before[py::slice(0, PY_SSIZE_T_MAX, 1)]);
    py::object result = copy.attr(method)(*arguments, **named);
    write(self, watch, before, copy);
    return result;
}

// A position as Python's lists take it; nothing if it is none of the list, or a slice.
std::optional<std::uint64_t> position_in(const ValueList& self, const py::object& index) {
    if (PyIndex_Check(index.ptr()) == 0) return std::nullopt;
    py::ssize_t position = PyNumber_AsSsize_t(index.ptr(), nullptr);
    if (position == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (position < 0) position += count;
    if (position < 0 || position >= count) return std::nullopt;
    return static_cast<std::uint64_t>(position);
}

// Whether it is one of the first reads of one text. A loop over positions is better served by
// values().
bool is_single_read(const ValueList& self) {
    constexpr std::uint32_t kFewReads = 8;
    const std::lock_guard locked(self.lock);
    return self.single_reads < kFewReads && ++self.single_reads != 0;
}

// The field at a position of a message without an index; nothing if there are fewer.
std::optional<wire::Field> walk_to(const onnx::Message& message, const wire::FieldRow& row,
                                   py::ssize_t position) {
    onnx::Message::Walk walk(message);
    wire::Field field;
    while (position >= 0 && walk.next(field)) {
        if (onnx::Message::belongs(field, row) && position-- == 0) return field;
    }
    return std::nullopt;
}

// The text at a position, if it is found without reading all.
std::optional<py::object> text_at(const ValueList& self, const py::object& index) {
    if (!holds_texts(self) || PyIndex_Check(index.ptr()) == 0) return std::nullopt;
    return below_guard(self, [&]() -> std::optional<py::object> {
        const onnx::Message message = self.parent.message();
        std::optional<wire::Field> text;
        if (const auto fields = indexed(self)) {
            if (const auto position = position_in(self, index)) {
                text = fields->at(*self.row, *position);
            }
        } else if (PyLong_CheckExact(index.ptr()) != 0 && is_single_read(self)) {
            const py::ssize_t position = PyLong_AsSsize_t(index.ptr());
            PyErr_Clear();  // it is too large: -1, which values() refuses
            text = walk_to(message, *self.row, position);
        }
        if (!text) return std::nullopt;
        text->bytes = self.document->resident(text->bytes);
        return to_python(self.document, message, *self.row, *text, self.as_proto);
    });
}

// Puts texts in the place of some others, which nobody needs to read.
void splice_texts(const ValueList& self, const EditWatch& watch, std::uint64_t first,
                  std::uint64_t count, std::span<const model::NewValue> texts) {
    watch.check();
    below_guard(self, [&] {
        model::splice_values(*self.document, to_change(self.parent), *self.row, first, count,
                             texts);
    });
}

void set_at(const ValueList& self, const py::object& index, const py::object& value) {
    const EditWatch watch(self.parent);
    const auto position = holds_texts(self) ? position_in(self, index) : std::nullopt;
    if (!position) {
        change(self, "__setitem__", py::make_tuple(index, value));
    } else {
        splice_texts(self, watch, *position, 1, encode_all(*self.row, py::make_tuple(value)));
    }
}

void erase_at(const ValueList& self, const py::object& index) {
    const EditWatch watch(self.parent);
    const auto position = holds_texts(self) ? position_in(self, index) : std::nullopt;
    if (!position) {
        change(self, "__delitem__", py::make_tuple(index));
    } else {
        splice_texts(self, watch, *position, 1, {});
    }
}

py::object pop(const ValueList& self, const py::object& index) {
    const EditWatch watch(self.parent);
    const auto position = holds_texts(self) ? position_in(self, index) : std::nullopt;
    auto text = position ? text_at(self, py::int_(*position)) : std::nullopt;
    if (!text) return change(self, "pop", py::make_tuple(index));
    splice_texts(self, watch, *position, 1, {});
    return *std::move(text);
}

void insert(const ValueList& self, const py::object& index, const py::object& value) {
    if (!holds_texts(self) || PyIndex_Check(index.ptr()) == 0) {
        change(self, "insert", py::make_tuple(index, value));
        return;
    }
    const EditWatch watch(self.parent);
    py::ssize_t position = PyNumber_AsSsize_t(index.ptr(), PyExc_OverflowError);
    if (position == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (position < 0) position = std::max<py::ssize_t>(position + count, 0);
    const auto encoded = encode_all(*self.row, py::make_tuple(value));
    splice_texts(self, watch, static_cast<std::uint64_t>(std::min(position, count)), 0, encoded);
}

void remove(const ValueList& self, const py::object& value) {
    const EditWatch watch(self.parent);
    const std::optional<std::uint64_t> position =
        below_guard(self, [&]() -> std::optional<std::uint64_t> {
            const auto fields = py::isinstance<py::str>(value) ? indexed(self) : nullptr;
            if (!fields) return std::nullopt;
            const std::string wanted = to_text(py::reinterpret_borrow<py::str>(value));
            model::FieldIndex::Cursor texts(*fields, *self.row);
            wire::Field text;
            while (texts.next(text)) {
                if (text.text() == wanted) return texts.position() - 1;
            }
            return std::nullopt;
        });
    if (position) {
        splice_texts(self, watch, *position, 1, {});
    } else {
        change(self, "remove", py::make_tuple(value));
    }
}

// Adds values at the end without a look at those that are there, which may be millions.
void extend(const ValueList& self, const py::object& values) {
    const auto encoded = encode_all(*self.row, values);
    below_guard(self, [&] {
        model::append_values(*self.document, to_change(self.parent), *self.row, encoded);
    });
}

py::object compare(const ValueList& self, const py::object& other, int operation) {
    const py::object theirs =
        is_a<ValueList>(other) ? checked_value<ValueList>(other).values() : other;
    auto result = py::reinterpret_steal<py::object>(
        PyObject_RichCompare(self.values().ptr(), theirs.ptr(), operation));
    if (!result) throw py::error_already_set();
    return result;
}

}  // namespace

void bind_value_lists(py::module_& module) {
    // values() and the edits guard their reads. The rest works on Python's list of the values.
    NativeClass<ValueList> cls(module, "ValueList",
                               R"(The values of a repeated field of numbers or text, as a list.

It always shows the field as it is now, and a change of it changes the message. A change of numbers,
but append() and extend(), reads the whole list: to change many, assign a new list, as in
`attribute.value = array`.)",
                               {{Py_tp_iter, reinterpret_cast<void*>(iterate_values)},
                                {Py_sq_length, reinterpret_cast<void*>(count_slot)},
                                {Py_mp_length, reinterpret_cast<void*>(count_slot)}});
    reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_flags |= Py_TPFLAGS_SEQUENCE;
    cls.def(
           "__getitem__",
           [](const ValueList& self, const py::object& index) {
               const auto text = text_at(self, index);
               return text ? *text : py::object(self.values()[index]);
           },
           py::arg("index"))
        .def("__reversed__",
             [](const ValueList& self) { return py::object(self.values().attr("__reversed__")()); })
        .def(
            "__contains__",
            [](const ValueList& self, const py::object& value) {
                return self.values().contains(value);
            },
            py::arg("value"))
        .def("__repr__", [](const ValueList& self) { return py::repr(self.values()); })
        .def("__eq__", [](const ValueList& self,
                          const py::object& other) { return compare(self, other, Py_EQ); })
        .def("__ne__", [](const ValueList& self,
                          const py::object& other) { return compare(self, other, Py_NE); })
        .def("__add__",
             [](const ValueList& self, const py::object& other) {
                 const py::object theirs =
                     is_a<ValueList>(other) ? checked_value<ValueList>(other).values() : other;
                 return py::object(self.values() + theirs);
             })
        .def("__radd__", [](const ValueList& self,
                            const py::object& other) { return py::object(other + self.values()); })
        .def("index",
             [](const ValueList& self, const py::args& arguments) {
                 return py::object(self.values().attr("index")(*arguments));
             })
        .def("count",
             [](const ValueList& self, const py::object& value) {
                 return py::object(self.values().attr("count")(value));
             })
        .def(
            "copy", [](const ValueList& self) { return py::object(self.values().attr("copy")()); },
            "Return the values as a new list.")
        .def(
            "__reduce__",
            [](const ValueList& self) {
                return py::make_tuple(
                    py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyList_Type)),
                    py::make_tuple(self.values()));
            },
            "A copy or a pickle is a list.")
        .def("__setitem__", set_at, py::arg("index"), py::arg("value"))
        .def("__delitem__", erase_at, py::arg("index"))
        .def(
            "append",
            [](const ValueList& self, const py::object& value) {
                extend(self, py::make_tuple(value));
            },
            py::arg("value"), "Add a value at the end.")
        .def("extend", extend, py::arg("values"), "Add values at the end.")
        .def("MergeFrom", extend, py::arg("values"), "Add values at the end, as extend() does.")
        .def("__iadd__",
             [](const py::object& self, const py::object& values) {
                 const auto& list = checked_value<ValueList>(self);
                 check_in_place(list.as_proto);
                 extend(list, values);
                 return self;
             })
        .def("insert", insert, py::arg("index"), py::arg("value"),
             "Insert a value before a position.")
        .def("pop", pop, py::arg("index") = -1,
             "Remove a value, by default the last, and return it.")
        .def("remove", remove, py::arg("value"), "Remove the first value that is equal to `value`.")
        .def(
            "clear", [](const ValueList& self) { change(self, "clear", py::tuple()); },
            "Remove all values.")
        .def(
            "reverse", [](const ValueList& self) { change(self, "reverse", py::tuple()); },
            "Reverse the order of the values.")
        .def(
            "sort",
            [](const ValueList& self, const py::kwargs& arguments) {
                change(self, "sort", py::tuple(), arguments);
            },
            "Sort the values, as list.sort() does.");
    py::setattr(cls, "__hash__", py::none());
    py::setattr(
        cls, "__class_getitem__",
        python_object<"builtins", "classmethod">()(python_object<"types", "GenericAlias">()));
}

}  // namespace onnxmap::bindings
