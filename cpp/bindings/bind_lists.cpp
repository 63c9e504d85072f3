// Repeated message fields as lists.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/list_names.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"
#include "model/equality.hpp"
#include "surgery/rewiring.hpp"

namespace onnxmap::bindings {

namespace {

// Whether the messages are found by their names.
bool has_names(const MessageList& list) { return model::naming_field(*list.row) != nullptr; }

}  // namespace

template <>
struct ListTraits<MessageList> {
    static model::MessageList core(const MessageList& list) { return *list.messages(); }

    static py::object element(const MessageList& list, const onnx::Message& message) {
        return wrap_message({list.document, message}, list.as_proto);
    }

    // The position of the message with a name, in a state of the list. Throws TypeError for an
    // object that is neither a name nor an index, KeyError, which suggests names, and Error
    // `model.duplicate_name`.
    static std::uint64_t position(const MessageList& list, const model::MessageList& messages,
                                  const py::object& index) {
        const bool has_names = bindings::has_names(list);
        if (!py::isinstance<py::str>(index)) {
            throw_python(package::wrong_name()("index", index, has_names));
        }
        if (!has_names) {
            throw py::type_error(
                "list indices must be integers or slices: the elements have no names");
        }
        if (const auto text = name_in_file(index)) {
            if (const auto found = messages.position(*list.document, *text)) return *found;
        }
        return position_of(*messages.names(*list.document), index);
    }

    static py::object named(const MessageList& list, const py::object& index) {
        return below_guard(list, [&] {
            const auto messages = list.messages();
            return element(list, messages->at(position(list, *messages, index)));
        });
    }

    // The index that an object is or means. May run any code.
    static py::ssize_t index_of(const MessageList& list, const py::object& index) {
        if (PyIndex_Check(index.ptr()) != 0) return to_index(index);
        return below_guard(list, [&] {
            return static_cast<py::ssize_t>(position(list, *list.messages(), index));
        });
    }

    static std::uint64_t edits(const MessageList& list) { return list.document->edits().count(); }
    // The list of a removed message is what it was.
    static bool is_removed(const MessageList& list, const onnx::Message& message) {
        const model::Edits& edits = list.document->edits();
        return edits.is_removed(message) && !edits.is_removed(list.message());
    }
};

namespace {

using Traits = ListTraits<MessageList>;

py::list completions(const MessageList& self) {
    return has_names(self) ? to_list(self.messages()->names(*self.document)->distinct())
                           : py::list();
}

// The message of an object of the class of the list's elements; nothing for other objects, which
// Python compares.
std::optional<Handle> comparable(const MessageList& self, const py::object& object) {
    const std::string_view cls = Py_TYPE(object.ptr())->tp_name;  // with its module
    const bool is_one = cls.find("._core.") != std::string_view::npos &&
                        is_a<ProtoView>(object) == self.as_proto &&
                        message_type_of(object) == self.row->type_name;
    return is_one ? find_message(self.row->type_name, object) : std::nullopt;
}

// The positions at which an equal message may be, ascending.
std::vector<std::uint64_t> likely(const MessageList& self, const Handle& wanted) {
    const std::string text =
        below_guard(wanted, [&] { return model::telling_text(wanted.message()); });
    return below_guard(self, [&] {
        const auto fields = self.document->index(self.message());
        return model::with_telling_text(*self.document, *fields, *self.row, text);
    });
}

// The positions of the messages that are equal to an object, from `first` on and before `end`, at
// most so many.
std::vector<std::uint64_t> equal_positions(const py::object& list, const py::object& object,
                                           std::uint64_t first, std::uint64_t end,
                                           std::uint64_t most) {
    const auto& self = checked_value<MessageList>(list);
    std::vector<std::uint64_t> found;
    // Returns whether to go on.
    const auto take = [&](std::uint64_t position, auto&& is_wanted) {
        if (position >= end || found.size() >= most) return false;
        if (position >= first && is_wanted()) found.push_back(position);
        return true;
    };
    const auto wanted = comparable(self, object);
    if (!wanted) {
        std::uint64_t position = 0;
        for (const py::handle each : list) {
            if (!take(position++, [&] { return each.equal(object); })) break;
        }
        return found;
    }
    for (const std::uint64_t position : likely(self, *wanted)) {
        const auto is_wanted = [&] {
            return is_equal(
                below_guard(self,
                            [&] { return Handle{self.document, self.messages()->at(position)}; }),
                *wanted);
        };
        if (!take(position, is_wanted)) break;
    }
    return found;
}

// An element, or the name of one.
bool contains(const py::object& list, const py::object& element) {
    if (!py::isinstance<py::str>(element)) {
        return !equal_positions(list, element, 0, UINT64_MAX, 1).empty();
    }
    const auto& self = checked_value<MessageList>(list);
    return below_guard(self, [&] {
        const auto messages = self.messages();
        const auto text = name_in_file(element);
        return has_names(self) && text && messages->contains(*self.document, *text);
    });
}

std::uint64_t count_of(const MessageList& self) {
    return below_guard(self, [&] { return self.messages()->count(); });
}

std::uint64_t existing(const MessageList& self, py::ssize_t index) {
    const auto count = static_cast<py::ssize_t>(count_of(self));
    if (index < 0) index += count;
    if (index < 0 || index >= count) throw py::index_error("list index out of range");
    return static_cast<std::uint64_t>(index);
}

Handle original_of(const MessageList& self, const py::handle& message) {
    return original_for(self, self.row->type_name, message, self.as_proto);
}

std::vector<onnx::Message> splice_into(const MessageList& self, std::span<const NewElement> added,
                                       std::span<const std::uint64_t> gone = {}) {
    return splice(self, *self.row, added, gone);
}

void insert(const MessageList& self, const py::object& index, const py::object& message) {
    const Handle original = original_of(self, message);
    const py::ssize_t given = to_index(index, PyExc_OverflowError);
    const NewElement added{place_in(given, count_of(self)), original};
    splice_into(self, {&added, 1});
}

void append(const MessageList& self, const py::object& message) {
    const NewElement added{kAtEnd, original_of(self, message)};
    splice_into(self, {&added, 1});
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
    for (Handle& each : originals_of(self, messages)) added.push_back({kAtEnd, std::move(each)});
    if (added.empty()) {
        edit::make_present(self);
    } else {
        splice_into(self, added);
    }
}

py::object add(const MessageList& self, const py::kwargs& fields) {
    Handle made = new_message(onnx::kSchema.message_of(*self.row));
    set_fields(made, fields);
    const NewElement added{kAtEnd, made};
    return Traits::element(self, splice_into(self, {&added, 1}).front());
}

void erase(const MessageList& self, const std::vector<std::uint64_t>& positions) {
    if (positions.empty()) return;
    edit::change_message(self, model::erase, *self.row, positions);
}

Range selected(const MessageList& self, const py::object& slice) {
    return range_of(py::reinterpret_borrow<py::slice>(slice),
                    [&] { return static_cast<py::ssize_t>(count_of(self)); });
}

std::vector<std::uint64_t> positions_in(const Range& range) {
    std::vector<std::uint64_t> positions;
    for (py::ssize_t i = 0; i < range.count; ++i) {
        positions.push_back(static_cast<std::uint64_t>(range.start + i * range.step));
    }
    return positions;
}

void erase_at(const MessageList& self, const py::object& index) {
    if (!py::isinstance<py::slice>(index))
        return erase(self, {existing(self, Traits::index_of(self, index))});
    auto positions = positions_in(selected(self, index));
    if (self.absent && positions.empty()) edit::make_present(self);
    std::ranges::sort(positions);
    erase(self, positions);
}

// The removed message can still be read.
py::object pop(const MessageList& self, const py::object& index) {
    const std::uint64_t position = existing(self, Traits::index_of(self, index));
    py::object message =
        below_guard(self, [&] { return Traits::element(self, self.messages()->at(position)); });
    erase(self, {position});
    return message;
}

void remove_message(const py::object& self, const py::object& message, bool rewire) {
    const auto& list = checked_value<MessageList>(self);
    const auto found = equal_positions(self, message, 0, UINT64_MAX, 1);
    if (found.empty()) throw py::value_error("the list has no such message");
    const std::uint64_t position = found.front();
    if (!rewire) return erase(list, {position});
    if (list.row != &model::nodes_of(list.made)) {
        throw py::type_error("only nodes are rewired");
    }
    below_guard(list, [&] {
        const model::NodeValues body(list.document, to_change(list));
        surgery::bypass(body, body.node(position));
    });
}

// As in protobuf, an edit of an empty list may leave its absent message absent.
bool is_nothing(const MessageList& self) { return self.absent && count_of(self) == 0; }

void clear(const MessageList& self) {
    std::vector<std::uint64_t> all(count_of(self));
    std::iota(all.begin(), all.end(), 0);
    erase(self, all);
}

// The copies of all messages, in a message of their own.
MessageList deep_copy(const py::object& self, const py::object&) {
    const auto& list = checked_value<MessageList>(self);
    const auto& folder = list.document->store().external.folder();
    MessageList made{new_message(list.made.table(), folder), list.row, list.as_proto};
    extend(made, self);
    return made;
}

void reorder(const MessageList& self, const std::vector<std::uint64_t>& order) {
    edit::change_message(self, model::reorder, *self.row, order);
}

void reverse(const MessageList& self) {
    std::vector<std::uint64_t> order(count_of(self));
    std::iota(order.rbegin(), order.rend(), 0);
    reorder(self, order);
}

// Sorts as list.sort() does: positions, by the messages that have them.
void sort(const py::object& self, const py::object& key, bool reversed) {
    const auto& list = checked_value<MessageList>(self);
    if (is_nothing(list)) return;
    const EditWatch watch(list);
    py::list keys;
    for (const py::handle each : self)
        keys.append(key.is_none() ? py::reinterpret_borrow<py::object>(each) : key(each));
    py::list positions(python_object<"builtins", "range">()(py::len(keys)));
    positions.attr("sort")(py::arg("key") = keys.attr("__getitem__"),
                           py::arg("reverse") = reversed);
    watch.check();
    reorder(list, positions.cast<std::vector<std::uint64_t>>());
}

void replace_at(const MessageList& self, const py::object& index, const py::object& message) {
    const py::ssize_t given = Traits::index_of(self, index);
    const Handle original = original_of(self, message);
    const std::uint64_t position = existing(self, given);
    const NewElement added{position, original};
    splice_into(self, {&added, 1}, {&position, 1});
}

void replace_range(const MessageList& self, const py::object& slice, const py::object& messages) {
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
    splice_into(self, elements, positions);
}

void replace(const MessageList& self, const py::object& index, const py::object& given) {
    if (self.as_proto) {  // protobuf has no such assignment
        throw py::type_error(
            "cannot assign a message of a `.proto`: change its fields, or CopyFrom()");
    }
    if (py::isinstance<py::slice>(index)) return replace_range(self, index, given);
    replace_at(self, index, given);
}

}  // namespace

void bind_lists(py::module_& module) {
    auto cls = bind_sequence<MessageList>(module, "MessageList", "MessageIterator",
                                          R"(The messages of a repeated field, as a list.

It always shows the field as it is now. A loop visits the messages that the list had when it began,
except those that were removed since. A message object is made when it is asked for; a message that is
added is copied. Messages with a name are also found by it: `graph.nodes["conv1"]`,
`"conv1" in graph.nodes`.)");
    cls.def("__contains__", unguarded(contains), py::arg("value"))
        .def("_equal", unguarded(equal_positions), py::arg("message"), py::arg("start"),
             py::arg("stop"), py::arg("most"),
             "Return the positions in a range of the messages that are equal, at most so many.")
        .def("append", edits(append), py::arg("message"), "Add a copy of a message at the end.")
        .def("extend", edits(extend), py::arg("messages"), "Add copies of messages at the end.")
        .def("MergeFrom", edits(extend), py::arg("messages"),
             "Add copies of messages at the end, as extend() does.")
        .def("add", edits(add), R"(Add a new message at the end and return it.

Args:
    fields: values of its fields, by their names in onnx.proto.)")
        .def("insert", edits(insert), py::arg("index"), py::arg("message"),
             "Insert a copy of a message before a position.")
        .def("pop", edits(pop), py::arg("index") = -1,
             "Remove a message, by default the last, and return it. It can still be read.")
        .def("remove", edits<MessageList>(remove_message), py::arg("message"), py::kw_only(),
             py::arg("rewire") = false, R"(Remove the first message that is equal to `message`.

Args:
    message: the message to remove.
    rewire: for a list of nodes: replace uses of the node's output by its first input, as
        `Graph.bypass` does.

Raises:
    ValueError: no message is equal to it; or for a reason of `bypass`.)")
        .def("clear", edits(clear), "Remove all messages.")
        .def("reverse", edits(reverse), "Reverse the order of the messages.")
        .def("sort", edits<MessageList>(sort), py::kw_only(), py::arg("key") = py::none(),
             py::arg("reverse") = false, "Sort the messages, as list.sort() does.")
        .def("__deepcopy__", unguarded(deep_copy), py::arg("memo"),
             "Return copies of the messages, as a list that is part of no model.")
        .def("__setitem__", edits(replace), py::arg("index"), py::arg("message"))
        .def("__delitem__", edits(erase_at), py::arg("index"))
        .def("__iadd__", edits<MessageList>(add_in_place<MessageList, extend>))
        .def("_ipython_key_completions_", completions)
        .def_property_readonly(
            "type_name", [](const MessageList& self) { return to_str(self.row->type_name); },
            "The name of the messages' type, such as NodeProto.");
}

}  // namespace onnxmap::bindings
