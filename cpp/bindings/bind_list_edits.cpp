// Changes of repeated message fields.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/list_search.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

namespace {

py::object wrapped(const MessageList& self, onnx::Message message) {
    Handle handle{self.document, std::move(message)};
    if (self.as_proto) return py::cast(ProtoView{std::move(handle)});
    return wrap_message(std::move(handle));
}

std::uint64_t count_of(const MessageList& self) {
    return below_guard(self, [&] { return self.messages()->count(); });
}

// A position as list.insert() takes it.
std::uint64_t place(const MessageList& self, const py::object& given) {
    py::ssize_t index = PyNumber_AsSsize_t(given.ptr(), PyExc_OverflowError);
    if (index == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (index < 0) index = std::max<py::ssize_t>(index + count, 0);
    return static_cast<std::uint64_t>(std::min(index, count));
}

std::uint64_t existing(const MessageList& self, py::ssize_t index) {
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (index < 0) index += count;
    if (index < 0 || index >= count) throw py::index_error("list index out of range");
    return static_cast<std::uint64_t>(index);
}

Handle original_of(const MessageList& self, const py::handle& message) {
    return original_for(self.parent, self.row->type_name, message, self.as_proto);
}

void insert(const MessageList& self, const py::object& index, const py::object& message) {
    const Handle original = original_of(self, message);
    const NewElement added{place(self, index), original};
    splice(self.parent, *self.row, {&added, 1});
}

void append(const MessageList& self, const py::object& message) {
    const NewElement added{UINT64_MAX, original_of(self, message)};
    splice(self.parent, *self.row, {&added, 1});
}

// Messages to be added. All of them are checked before the first is added.
std::vector<Handle> originals_of(const MessageList& self, const py::object& messages) {
    std::vector<Handle> originals;
    for (const py::handle each : elements_of(*self.row, messages))
        originals.push_back(original_of(self, each));
    return originals;
}

void extend(const MessageList& self, const py::object& messages) {
    std::vector<NewElement> added;
    for (Handle& each : originals_of(self, messages))
        added.push_back({UINT64_MAX, std::move(each)});
    if (added.empty()) {
        below_guard(self, [&] { std::ignore = to_change(self.parent); });  // makes it present
    } else {
        splice(self.parent, *self.row, added);
    }
}

py::object add(const MessageList& self, const py::kwargs& fields) {
    Handle made = new_message(onnx::kSchema.message_of(*self.row));
    set_fields(made, fields);
    const NewElement added{UINT64_MAX, made};
    return wrapped(self, splice(self.parent, *self.row, {&added, 1}).front());
}

void erase(const MessageList& self, const std::vector<std::uint64_t>& positions) {
    if (positions.empty()) return;
    below_guard(
        self, [&] { model::erase(*self.document, to_change(self.parent), *self.row, positions); });
}

void erase_at(const MessageList& self, py::ssize_t index) { erase(self, {existing(self, index)}); }

Range selected(const MessageList& self, const py::slice& slice) {
    return range_of(slice, [&] { return static_cast<py::ssize_t>(count_of(self)); });
}

std::vector<std::uint64_t> positions_in(const Range& range) {
    std::vector<std::uint64_t> positions;
    for (py::ssize_t i = 0; i < range.count; ++i) {
        positions.push_back(static_cast<std::uint64_t>(range.start + i * range.step));
    }
    return positions;
}

void erase_range(const MessageList& self, const py::slice& slice) {
    auto positions = positions_in(selected(self, slice));
    std::ranges::sort(positions);
    erase(self, positions);
}

// The removed message can still be read.
py::object pop(const MessageList& self, py::ssize_t index) {
    const std::uint64_t position = existing(self, index);
    py::object message =
        below_guard(self, [&] { return wrapped(self, self.messages()->at(position)); });
    erase(self, {position});
    return message;
}

void reorder(const MessageList& self, const std::vector<std::uint64_t>& order) {
    below_guard(self,
                [&] { model::reorder(*self.document, to_change(self.parent), *self.row, order); });
}

void reverse(const MessageList& self) {
    std::vector<std::uint64_t> order(count_of(self));
    std::iota(order.rbegin(), order.rend(), 0);
    reorder(self, order);
}

// Sorts as list.sort() does: positions, by the messages that have them.
void sort(const py::object& self, const py::object& key, bool reversed) {
    const auto& list = checked_value<MessageList>(self);
    const EditWatch watch(list.parent);
    py::list keys;
    for (const py::handle each : self)
        keys.append(key.is_none() ? py::reinterpret_borrow<py::object>(each) : key(each));
    py::list positions(python_object<"builtins", "range">()(py::len(keys)));
    positions.attr("sort")(py::arg("key") = keys.attr("__getitem__"),
                           py::arg("reverse") = reversed);
    watch.check();
    reorder(list, positions.cast<std::vector<std::uint64_t>>());
}

// Protobuf has no such assignment.
void check_replaceable(const MessageList& self) {
    if (self.as_proto) {
        throw py::type_error(
            "cannot assign a message of a `.proto`: change its fields, or CopyFrom()");
    }
}

void replace_at(const MessageList& self, py::ssize_t index, const py::object& message) {
    check_replaceable(self);
    const Handle original = original_of(self, message);
    const std::uint64_t position = existing(self, index);
    const NewElement added{position, original};
    splice(self.parent, *self.row, {&added, 1}, {&position, 1});
}

void replace_range(const MessageList& self, const py::slice& slice, const py::object& messages) {
    check_replaceable(self);
    std::vector<Handle> originals = originals_of(self, messages);
    const Range range = selected(self, slice);
    auto positions = positions_in(range);
    const std::uint64_t added = originals.size();
    if (range.step != 1 && added != positions.size()) {
        throw py::value_error("attempt to assign " + std::to_string(added) + " messages to " +
                              std::to_string(positions.size()) + " of an extended slice");
    }
    // The originals may be among those that are replaced: a removed message can still be copied.
    std::vector<NewElement> elements;
    for (std::uint64_t i = 0; i < added; ++i) {
        const std::uint64_t place =
            range.step != 1 ? positions[i] : static_cast<std::uint64_t>(range.start);
        elements.push_back({place, std::move(originals[i])});
    }
    if (range.step < 0) {
        std::ranges::reverse(elements);
        std::ranges::reverse(positions);
    }
    splice(self.parent, *self.row, elements, positions);
}

}  // namespace

void bind_list_edits(GuardedClass<MessageList>& cls) {
    cls.def("append", unguarded(append), py::arg("message"), "Add a copy of a message at the end.")
        .def("extend", unguarded(extend), py::arg("messages"), "Add copies of messages at the end.")
        .def("MergeFrom", unguarded(extend), py::arg("messages"),
             "Add copies of messages at the end, as extend() does.")
        .def("add", unguarded(add), R"(Add a new message at the end and return it.

Args:
    fields: values of its fields, by their names in onnx.proto.)")
        .def("insert", unguarded(insert), py::arg("index"), py::arg("message"),
             "Insert a copy of a message before a position.")
        .def("pop", unguarded(pop), py::arg("index") = -1,
             "Remove a message, by default the last, and return it. It can still be read.")
        .def("remove", unguarded([](const py::object& self, const py::object& message) {
                 erase(checked_value<MessageList>(self), {position_in(self, message)});
             }),
             py::arg("message"), R"(Remove the first message that is equal to `message`.

Raises:
    ValueError: there is none.)")
        .def(
            "clear",
            [](const MessageList& self) {
                model::clear(*self.document, to_change(self.parent), *self.row);
            },
            "Remove all messages.")
        .def("reverse", unguarded(reverse), "Reverse the order of the messages.")
        .def("sort", unguarded(sort), py::kw_only(), py::arg("key") = py::none(),
             py::arg("reverse") = false, "Sort the messages, as list.sort() does.")
        .def("__setitem__", unguarded(replace_at), py::arg("index"), py::arg("message"))
        .def("__setitem__", unguarded(replace_range), py::arg("index"), py::arg("messages"))
        .def("__delitem__", unguarded(erase_at), py::arg("index"))
        .def("__delitem__", unguarded(erase_range), py::arg("index"))
        .def("__add__", unguarded([](const py::object& self, const py::object& other) {
                 return py::object(py::list(self) + py::list(other));
             }))
        .def("__radd__", unguarded([](const py::object& self, const py::object& other) {
                 return py::object(other + py::list(self));
             }))
        .def("__iadd__", unguarded([](const py::object& self, const py::object& messages) {
                 const auto& list = checked_value<MessageList>(self);
                 check_in_place(list.as_proto);
                 extend(list, messages);
                 return self;
             }));
}

}  // namespace onnxmap::bindings
