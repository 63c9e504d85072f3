// Messages to and from bytes, on `.proto`.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "model/canonical_bytes.hpp"
#include "model/flatten.hpp"

namespace onnxmap::bindings {

namespace {

// Copies the bytes of a message into memory.
class MemorySink final : public model::ByteSink {
  public:
    MemorySink(const model::Document& document, std::uint8_t* out)
        : document_(document), out_(out) {}

    void take(ByteView bytes) override {
        document_.read(bytes, {out_, bytes.size()});
        out_ += bytes.size();
    }
    void take_new(ByteView bytes) override { out_ = std::ranges::copy(bytes, out_).out; }

  private:
    const model::Document& document_;
    std::uint8_t* out_;
};

// What `message.write()` passes on.
template <class Written>
py::bytes written(const ProtoView& view, const Written& message) {
    auto bytes = owned<py::bytes>(
        PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(message.nbytes())));
    MemorySink out(*view.document, reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(bytes.ptr())));
    const source::Source& source = view.document->source();
    const WithoutLock unlocked;
    source::guard_reads(source, [&] {
        message.write(out);
        view.document->store().check_after_reading(source);
    });
    return bytes;
}

py::bytes serialized(const ProtoView& view, const py::object& deterministic) {
    const bool by_number = is_true(deterministic);  // may run any Python code
    return below_guard(view, [&] {
        if (by_number) return written(view, model::CanonicalBytes(*view.document, view.message()));
        return written(view, model::FlatMessage(*view.document, view.message()));
    });
}

// The bytes, loaded as a message of the same type. Throws ParseError. What may be changed is
// copied: the message refers to its bytes.
Handle parsed(const ProtoView& self, const py::object& given) {
    const bool is_buffer =
        PyByteArray_Check(given.ptr()) != 0 || PyMemoryView_Check(given.ptr()) != 0;
    if (PyBytes_Check(given.ptr()) == 0 && !is_buffer) {
        throw py::type_error(std::string("expected bytes, a bytearray or a memoryview, not ") +
                             Py_TYPE(given.ptr())->tp_name);
    }
    const auto bytes = is_buffer ? owned<py::object>(PyBytes_FromObject(given.ptr())) : given;
    return parsed_message(self.made.table(), bytes);
}

py::ssize_t nbytes_of(const Handle& parsed) {
    return static_cast<py::ssize_t>(parsed.document->source().size());
}

py::ssize_t merge_bytes(const ProtoView& self, const py::object& bytes) {
    const Handle original = parsed(self, bytes);
    merge(self, original);
    return nbytes_of(original);
}

py::ssize_t parse_bytes(const ProtoView& self, const py::object& bytes) {
    const Handle original = parsed(self, bytes);
    copy(self, original);
    return nbytes_of(original);
}

}  // namespace

void bind_proto_bytes(GuardedClass<ProtoView>& cls) {
    constexpr const char* kSerialize = R"(Return the message as bytes.

They are the bytes of the file, unknown fields included. `loads_proto` and protobuf read them.

Args:
    deterministic: return the bytes that protobuf writes instead: known fields sorted by number in
        their shortest form, then the unknown ones. Equal messages have the same bytes.)";
    for (const char* const name : {"SerializeToString", "SerializePartialToString"}) {
        cls.def(name, unguarded(serialized), py::arg("deterministic") = py::none(), kSerialize);
    }
    cls.def(
           "ByteSize",
           [](const ProtoView& self) {
               return model::FlatMessage(*self.document, self.message()).nbytes();
           },
           "Return the number of bytes of SerializeToString().")
        .def("MergeFromString", edits(merge_bytes), py::arg("serialized"),
             R"(Add the fields of a serialized message of the same type; return the number of bytes.

`serialized` is bytes, a bytearray or a memoryview; the last two are copied.

Raises:
    ParseError: the bytes are not a message of this type.)")
        .def("ParseFromString", edits(parse_bytes), py::arg("serialized"),
             R"(Replace all fields by those of a serialized message; return the number of bytes.

`serialized` is bytes, a bytearray or a memoryview; the last two are copied.

Raises:
    ParseError: the bytes are not a message of this type.)")
        .def("FromString", unguarded([](const ProtoView& self, const py::object& bytes) {
                 return ProtoView{parsed(self, bytes)};
             }),
             py::arg("serialized"),
             R"(Return a new message of the same type, parsed from a serialized one.

Raises:
    ParseError: the bytes are not a message of this type.)");
}

}  // namespace onnxmap::bindings
