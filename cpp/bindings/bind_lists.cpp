// Repeated message fields as lazy, immutable sequences.
#include <memory>
#include <mutex>

#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "io/fork_safe_mutex.hpp"

namespace onnxmap::bindings {

namespace {

// Threads may share an iterator, as they may share any Python object.
struct MessageIterator {
    struct Position {
        explicit Position(const MessageList& list) : cursor(*list.index, *list.row) {}

        io::ForkSafeMutex mutex;
        model::FieldIndex::Cursor cursor;
    };

    explicit MessageIterator(const MessageList& source)
        : list(source), position(std::make_shared<Position>(list)) {}

    MessageList list;
    std::shared_ptr<Position> position;

    bool next(wire::Field& field) const {
        const std::lock_guard lock(position->mutex);
        return position->cursor.next(field);
    }
};

py::object element(const MessageList& list, const wire::Field& field) {
    return to_python(list.document, *list.row, field, list.as_proto);
}

std::uint64_t length(const MessageList& list) { return list.index->count(*list.row); }

py::object item(const MessageList& list, py::ssize_t i) {
    const auto count = static_cast<py::ssize_t>(length(list));
    if (i < 0) i += count;
    if (i < 0 || i >= count) throw py::index_error("index out of range");
    return element(list, list.index->at(*list.row, static_cast<std::uint64_t>(i)));
}

py::list slice(const MessageList& list, const py::slice& range) {
    py::ssize_t start = 0;
    py::ssize_t stop = 0;
    py::ssize_t step = 0;
    py::ssize_t count = 0;
    if (!range.compute(static_cast<py::ssize_t>(length(list)), &start, &stop, &step, &count)) {
        throw py::error_already_set();
    }
    py::list items;
    for (py::ssize_t i = 0; i < count; ++i) items.append(item(list, start + i * step));
    return items;
}

std::string repr(const MessageList& list) {
    return "<" + std::to_string(length(list)) + " x " + std::string(list.row->type_name) + ">";
}

}  // namespace

void bind_lists(py::module_& module) {
    GuardedClass<MessageIterator>(module, "MessageIterator")
        .def("__iter__", [](MessageIterator& self) -> MessageIterator& { return self; })
        .def("__next__", [](MessageIterator& self) {
            wire::Field field;
            if (!self.next(field)) throw py::stop_iteration();
            return element(self.list, field);
        });

    GuardedClass<MessageList> list(
        module, "MessageList",
        "A repeated message field: an immutable sequence whose elements are made when asked for.");
    // For `match`, as collections.abc.Sequence.register would: it passes over sealed classes.
    reinterpret_cast<PyTypeObject*>(list.ptr())->tp_flags |= Py_TPFLAGS_SEQUENCE;
    list.def("__len__", length)
        .def("__getitem__", item, py::arg("index"))
        .def("__getitem__", slice, py::arg("index"))
        .def("__iter__", [](const MessageList& self) { return MessageIterator(self); })
        .def("__repr__", repr);
}

}  // namespace onnxmap::bindings
