#include "bindings/list_search.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/list_names.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/python_objects.hpp"
#include "model/equality.hpp"

namespace onnxmap::bindings {

namespace {

// The message of an object of the class of the list's elements; nothing for other objects, which
// Python compares.
std::optional<Handle> comparable(const MessageList& self, const py::object& object) {
    const std::string_view type_name = self.row->type_name;
    const std::string_view given = Py_TYPE(object.ptr())->tp_name;  // with its module
    const bool is_one = self.as_proto ? is_a<ProtoView>(object)
                                      : given.ends_with("._core." + class_name(type_name));
    if (!is_one) return std::nullopt;
    if (self.as_proto && cpp_value<ProtoView>(object).made.table().name != type_name) {
        return std::nullopt;
    }
    return message_for(type_name, object);
}

// The positions at which an equal message may be, ascending.
std::vector<std::uint64_t> likely(const MessageList& self, const Handle& wanted) {
    const std::string text =
        below_guard(wanted, [&] { return model::telling_text(wanted.message()); });
    return below_guard(self, [&] {
        const auto fields = self.document->index(self.parent.message());
        return model::with_telling_text(*self.document, *fields, *self.row, text);
    });
}

// Calls visit(position) for each message that is equal to an object, in order, until it returns
// false.
template <class Visit>
void for_each_equal(const py::object& list, const py::object& object, Visit&& visit) {
    const auto& self = checked_value<MessageList>(list);
    const auto wanted = comparable(self, object);
    if (!wanted) {
        std::uint64_t position = 0;
        for (const py::handle each : list) {
            if (each.equal(object) && !visit(position)) return;
            ++position;
        }
        return;
    }
    for (const std::uint64_t position : likely(self, *wanted)) {
        const Handle each =
            below_guard(self, [&] { return Handle{self.document, self.messages()->at(position)}; });
        if (is_equal(each, *wanted) && !visit(position)) return;
    }
}

[[noreturn]] void fail_absent() { throw py::value_error("the list has no such message"); }

}  // namespace

std::uint64_t position_in(const py::object& list, const py::object& message) {
    std::optional<std::uint64_t> found;
    for_each_equal(list, message, [&](std::uint64_t position) {
        found = position;
        return false;
    });
    if (!found) fail_absent();
    return *found;
}

namespace {

// A position as list.index() takes it.
std::uint64_t bound(const py::object& given, std::uint64_t count) {
    if (given.is_none()) return count;
    py::ssize_t index = PyNumber_AsSsize_t(given.ptr(), nullptr);
    if (index == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (index < 0) index = std::max<py::ssize_t>(index + static_cast<py::ssize_t>(count), 0);
    return static_cast<std::uint64_t>(index);
}

std::uint64_t index(const py::object& list, const py::object& message, const py::object& start,
                    const py::object& stop) {
    const auto count = static_cast<std::uint64_t>(py::len(list));
    const std::uint64_t first = bound(start, count);
    const std::uint64_t end = bound(stop, count);
    std::optional<std::uint64_t> found;
    for_each_equal(list, message, [&](std::uint64_t position) {
        if (position >= end) return false;
        if (position < first) return true;
        found = position;
        return false;
    });
    if (!found) fail_absent();
    return *found;
}

std::uint64_t count(const py::object& list, const py::object& message) {
    std::uint64_t found = 0;
    for_each_equal(list, message, [&](std::uint64_t) {
        ++found;
        return true;
    });
    return found;
}

// An element, or the name of one.
bool contains(const py::object& list, const py::object& element) {
    if (!py::isinstance<py::str>(element)) {
        bool found = false;
        for_each_equal(list, element, [&](std::uint64_t) {
            found = true;
            return false;
        });
        return found;
    }
    const auto& self = checked_value<MessageList>(list);
    return below_guard(self, [&] {
        const auto messages = self.messages();
        const auto text = name_in_file(element);
        return messages->has_names() && text && messages->contains(*self.document, *text);
    });
}

}  // namespace

void bind_list_search(GuardedClass<MessageList>& cls) {
    for (const char* const name : {"index", "count"}) py::delattr(cls, name);  // of Sequence
    cls.def("__contains__", unguarded(contains), py::arg("value"))
        .def("index", unguarded(index), py::arg("value"), py::arg("start") = 0,
             py::arg("stop") = py::none(),
             R"(Return the position of the first message that is equal.

Raises:
    ValueError: there is none.)")
        .def("count", unguarded(count), py::arg("value"),
             "Return how many messages are equal to `value`.");
}

}  // namespace onnxmap::bindings
