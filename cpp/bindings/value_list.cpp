#include "bindings/value_list.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/guarded.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "model/field_index.hpp"

namespace onnxmap::bindings {

namespace {

// Fewer values are read again at each call: that takes no longer than to look whether the kept ones
// are still right.
constexpr std::size_t kLeastKept = 16;

py::list read_values(const ValueList& self) {
    return below_guard(self, [&] {
        py::list values;
        const onnx::Message message = self.message();
        message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
            if (known != self.row) return;
            wire::Field run = found;
            run.bytes = self.document->resident(found.bytes);
            onnx::Message::unpack(*self.row, run, [&](const wire::Field& value) {
                values.append(to_python(self.document, message, *self.row, value, self.as_proto));
            });
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
    const onnx::Message message = self.message();
    if (!message.edited() && !model::Document::is_large(message)) return nullptr;
    return self.document->index(message);
}

std::size_t count_of(const ValueList& self) {
    if (!holds_texts(self)) return self.values().size();
    return below_guard(self, [&]() -> std::size_t {
        if (const auto fields = indexed(self)) return fields->count(*self.row);
        return self.message().count(*self.row);
    });
}

Py_ssize_t count_slot(PyObject* self) {
    return number_for_python(
        [&] { return static_cast<Py_ssize_t>(count_of(cpp_value<ValueList>(self))); });
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
    using Objects = std::span<PyObject* const>;
    const Objects a(PySequence_Fast_ITEMS(before.ptr()), before.size());
    const Objects b(PySequence_Fast_ITEMS(after.ptr()), after.size());
    const auto first = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const auto rest = std::views::reverse(a.subspan(first));
    const auto last = std::ranges::mismatch(rest, std::views::reverse(b.subspan(first))).in1;
    return {first, static_cast<std::size_t>(last - rest.begin())};
}

// Whether no run holds several values, and none is written: ONNX packs the numbers of tensors only.
bool are_single_fields(const ValueList& self) {
    bool found = !self.row->packed;
    self.message().for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
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
        const onnx::Message message = to_change(self);
        if (are_single) {
            model::splice_values(*self.document, message, row, first, before.size() - last - first,
                                 encoded);
        } else {
            model::set_values(*self.document, message, row, encoded);
        }
    });
}

py::list copy_of(const py::list& values) { return values[py::slice(0, PY_SSIZE_T_MAX, 1)]; }

// Calls a method of a copy of the list, as `list.insert(i, x)`, and writes the copy.
py::object change(const ValueList& self, std::string_view method, const py::tuple& arguments,
                  const py::dict& named = {}) {
    const EditWatch watch(self);
    const py::list before = self.values();
    const py::list copy = copy_of(before);
    py::object result = copy.attr(method.data())(*arguments, **named);
    // As in protobuf, an absent message stays absent if its empty list is cleared or sorted.
    if (self.absent && before.empty() && (method == "clear" || method == "sort")) return result;
    write(self, watch, before, copy);
    return result;
}

// The position of a text, as Python's lists take it. Nothing for numbers, for a slice and for a
// position that the list does not have.
std::optional<std::uint64_t> position_in(const ValueList& self, const py::object& index) {
    if (!holds_texts(self) || PyIndex_Check(index.ptr()) == 0) return std::nullopt;
    py::ssize_t position = to_index(index);
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (position < 0) position += count;
    if (position < 0 || position >= count) return std::nullopt;
    return static_cast<std::uint64_t>(position);
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

// A loop over positions is better served by values().
constexpr std::uint32_t kFewReads = 8;

// The text at a position, if it is found without reading all.
std::optional<py::object> text_at(const ValueList& self, const py::object& index) {
    if (!holds_texts(self) || PyIndex_Check(index.ptr()) == 0) return std::nullopt;
    return below_guard(self, [&]() -> std::optional<py::object> {
        const onnx::Message message = self.message();
        std::optional<wire::Field> text;
        if (const auto fields = indexed(self)) {
            if (const auto position = position_in(self, index)) {
                text = fields->at(*self.row, *position);
            }
        } else if (PyLong_CheckExact(index.ptr()) != 0 && self.single_reads < kFewReads) {
            ++self.single_reads;
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
    edit::change_message(self, model::splice_values, *self.row, first, count, texts);
}

// Replaces the value at an index, or those of a slice, as a method of a list does: `__setitem__`
// with a tuple of what replaces them, `__delitem__` with an empty one.
void replace(const ValueList& self, const char* method, const py::object& index,
             const py::tuple& values) {
    const EditWatch watch(self);
    const auto position = position_in(self, index);
    if (position) {
        splice_texts(self, watch, *position, 1, encode_all(*self.row, values));
    } else {
        change(self, method, py::tuple(py::make_tuple(index) + values));
    }
}

py::object pop_value(const ValueList& self, const py::object& index) {
    const EditWatch watch(self);
    const auto position = position_in(self, index);
    auto text = position ? text_at(self, py::int_(*position)) : std::nullopt;
    if (!text) return change(self, "pop", py::make_tuple(index));
    splice_texts(self, watch, *position, 1, {});
    return *std::move(text);
}

void insert_value(const ValueList& self, const py::object& index, const py::object& value) {
    if (!holds_texts(self) || PyIndex_Check(index.ptr()) == 0) {
        change(self, "insert", py::make_tuple(index, value));
        return;
    }
    const EditWatch watch(self);
    const py::ssize_t given = to_index(index, PyExc_OverflowError);
    const std::uint64_t position = place_in(given, count_of(self));
    const auto encoded = encode_all(*self.row, py::make_tuple(value));
    splice_texts(self, watch, position, 0, encoded);
}

void remove_value(const ValueList& self, const py::object& value) {
    const EditWatch watch(self);
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
void extend_values(const ValueList& self, const py::object& values) {
    if (!self.as_proto) check_is_list(*self.row, values);
    const auto encoded = encode_all(*self.row, values);
    edit::change_message(self, model::append_values, *self.row, encoded);
}

struct Method {
    const char* name;
    const char* doc;
};
// Methods of Python's list that change a copy.
constexpr Method kChanging[] = {{"clear", "Remove all values."},
                                {"reverse", "Reverse the order of the values."},
                                {"sort", "Sort the values, as list.sort() does."}};

}  // namespace

void bind_value_lists(py::module_& module) {
    // values() and the edits guard their reads. The rest works on Python's list of the values.
    GuardedClass<ValueList> cls(module, "ValueList",
                                R"(The values of a repeated field of numbers or strings, as a list.

It always shows the field as it is now, and a change of it changes the message. Every change of a list
of numbers, except append() and extend(), reads the whole list: to change many, assign a new list, as
in `attribute.value = array`.)",
                                {{Py_tp_iter, reinterpret_cast<void*>(iterate_values)},
                                 {Py_sq_length, reinterpret_cast<void*>(count_slot)},
                                 {Py_mp_length, reinterpret_cast<void*>(count_slot)}});
    for (const auto& [name, doc] : kChanging) {
        cls.def(name,
                edits([name](const ValueList& self, const py::args& arguments,
                             const py::kwargs& named) { change(self, name, arguments, named); }),
                doc);
    }
    cls.def("__getitem__", unguarded([](const ValueList& self, const py::object& index) {
                const auto text = text_at(self, index);
                return text ? *text : py::object(self.values()[index]);
            }),
            py::arg("index"))
        .def("__setitem__",
             edits([](const ValueList& self, const py::object& index, const py::object& value) {
                 replace(self, "__setitem__", index, py::make_tuple(value));
             }),
             py::arg("index"), py::arg("value"))
        .def("__delitem__", edits([](const ValueList& self, const py::object& index) {
                 replace(self, "__delitem__", index, py::tuple());
             }),
             py::arg("index"))
        .def("append", edits([](const ValueList& self, const py::object& value) {
                 extend_values(self, py::make_tuple(value));
             }),
             py::arg("value"), "Add a value at the end.")
        .def("extend", edits(extend_values), py::arg("values"), "Add values at the end.")
        .def("MergeFrom", edits(extend_values), py::arg("values"),
             "Add values at the end, as extend() does.")
        .def("__iadd__", edits<ValueList>(add_in_place<ValueList, extend_values>))
        .def("insert", edits(insert_value), py::arg("index"), py::arg("value"),
             "Insert a value before a position.")
        .def("pop", edits(pop_value), py::arg("index") = -1,
             "Remove a value, by default the last, and return it.")
        .def("remove", edits(remove_value), py::arg("value"),
             "Remove the first value that is equal to `value`.");
}

}  // namespace onnxmap::bindings
