// Lazy, immutable sequences: repeated message fields, and fields that the schema does not know.
#include <memory>
#include <mutex>

#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::bindings {

namespace {

struct UnknownField {
    std::uint32_t field_number;
    int wire_type;
    py::object data;
};

model::FieldIndex::Cursor cursor_of(const MessageList& list) { return {*list.index, *list.row}; }

model::UnknownFields::Cursor cursor_of(const UnknownFieldList& list) {
    return model::UnknownFields::Cursor(*list.fields);
}

std::uint64_t length(const MessageList& list) { return list.index->count(*list.row); }

std::uint64_t length(const UnknownFieldList& list) { return list.fields->count(); }

wire::Field field_at(const MessageList& list, std::uint64_t i) {
    return list.index->at(*list.row, i);
}

wire::Field field_at(const UnknownFieldList& list, std::uint64_t i) { return list.fields->at(i); }

py::object element(const MessageList& list, const wire::Field& field) {
    return to_python(list.document, *list.row, field, list.as_proto);
}

py::object element(const UnknownFieldList& list, const wire::Field& field) {
    const auto bytes = [&] { return list.document->source().resident(field.bytes); };
    py::object data;
    if (field.type == wire::WireType::length_delimited) {
        data = to_bytes(bytes());
    } else if (field.type == wire::WireType::start_group) {
        data = py::cast(
            UnknownFieldList{list.document, std::make_shared<const model::UnknownFields>(bytes())});
    } else {
        data = py::int_(field.value);
    }
    return py::cast(UnknownField{field.number, static_cast<int>(field.type), std::move(data)});
}

std::string repr(const MessageList& list) {
    return "<" + std::to_string(length(list)) + " x " + std::string(list.row->type_name) + ">";
}

std::string repr(const UnknownFieldList& list) {
    return "<" + std::to_string(length(list)) + " x UnknownField>";
}

// Threads may share an iterator, as they may share any Python object.
template <class List>
struct ListIterator {
    struct Position {
        explicit Position(const List& list) : cursor(cursor_of(list)) {}

        os::ForkSafeMutex mutex;
        decltype(cursor_of(std::declval<List>())) cursor;
    };

    explicit ListIterator(const List& source)
        : list(source), position(std::make_shared<Position>(list)) {}

    List list;
    std::shared_ptr<Position> position;

    bool next(wire::Field& field) const {
        const std::lock_guard lock(position->mutex);
        return position->cursor.next(field);
    }
};

template <class List>
py::object item(const List& list, py::ssize_t i) {
    const auto count = static_cast<py::ssize_t>(length(list));
    if (i < 0) i += count;
    if (i < 0 || i >= count) throw py::index_error("index out of range");
    return element(list, field_at(list, static_cast<std::uint64_t>(i)));
}

template <class List>
py::list slice(const List& list, const py::slice& range) {
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

// As Python's lists: element by element with `==`.
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

// What collections.abc.Sequence derives from the methods that the class has.
void derive_sequence(const py::object& cls) {
    const py::object& sequence = python_object<"collections.abc", "Sequence">();
    for (const char* name : {"__contains__", "__reversed__", "count", "index"}) {
        py::setattr(cls, name, sequence.attr(name));
    }
    py::setattr(
        cls, "__class_getitem__",
        python_object<"builtins", "classmethod">()(python_object<"types", "GenericAlias">()));
}

template <class List>
void bind_list(py::module_& module, const char* name, const char* iterator_name, const char* doc) {
    using Iterator = ListIterator<List>;
    GuardedClass<Iterator>(module, iterator_name)
        .def("__iter__", [](Iterator& self) -> Iterator& { return self; })
        .def("__next__", [](Iterator& self) {
            wire::Field field;
            if (!self.next(field)) throw py::stop_iteration();
            return element(self.list, field);
        });

    GuardedClass<List> cls(module, name, doc);
    // Lets `match` see a sequence. collections.abc.Sequence.register skips sealed classes.
    reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_flags |= Py_TPFLAGS_SEQUENCE;
    cls.def("__len__", [](const List& self) { return length(self); })
        .def("__getitem__", item<List>, py::arg("index"))
        .def("__getitem__", slice<List>, py::arg("index"))
        .def("__iter__", [](const List& self) { return Iterator(self); })
        .def("__repr__", [](const List& self) { return repr(self); })
        .def("__eq__", unguarded(equals<List>));
    derive_sequence(cls);
}

}  // namespace

void bind_lists(py::module_& module) {
    bind_list<MessageList>(
        module, "MessageList", "MessageIterator",
        "A repeated message field: an immutable sequence whose elements are made when asked for.");

    py::class_<UnknownField>(module, "UnknownField",
                             "A field that the schema does not know. `data` is an int, bytes, or, "
                             "for a group, an UnknownFieldList.")
        .def_readonly("field_number", &UnknownField::field_number)
        .def_readonly("wire_type", &UnknownField::wire_type)
        .def_readonly("data", &UnknownField::data)
        .def(
            "__eq__",
            [](const UnknownField& a, const UnknownField& b) {
                return a.field_number == b.field_number && a.wire_type == b.wire_type &&
                       a.data.equal(b.data);
            },
            py::is_operator())
        .def("__hash__", [](const UnknownField& self) { return self.field_number; });
    bind_list<UnknownFieldList>(module, "UnknownFieldList", "UnknownFieldIterator",
                                "Fields that the schema does not know: an immutable sequence whose "
                                "elements, of class UnknownField, are made when asked for.");
}

}  // namespace onnxmap::bindings
