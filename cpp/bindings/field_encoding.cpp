#include "bindings/field_encoding.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bindings/python_buffer.hpp"
#include "bindings/python_objects.hpp"
#include "onnx/schema.hpp"
#include "source/owned_bytes.hpp"
#include "wire/writer.hpp"

namespace onnxmap::bindings {

namespace {

// How to do what a wrong value probably was meant to do; empty if nobody knows.
std::string remedy_for(const wire::FieldRow& row, const py::handle& value) {
    if (value.is_none()) {
        if (row.repeated()) return "; [] removes all values";
        return "; .proto.ClearField('" + std::string(row.name) + "') removes the value";
    }
    if (row.type == wire::Type::string && py::hasattr(value, "name")) {
        return "; pass its name, x.name";
    }
    return row.is_message() ? "; put it into a list" : "";
}

[[noreturn]] void fail_type(const wire::FieldRow& row, const char* expected,
                            const py::handle& value) {
    const std::string given = value.is_none() ? "None" : type_name(value);
    throw py::type_error(std::string(row.name) + ": expected " + expected + ", not " + given +
                         remedy_for(row, value));
}

const char* range_in_words(wire::Type type) noexcept {
    if (type == wire::Type::uint64) return "0 to 2**64 - 1";
    return type == wire::Type::int64 ? "-2**63 to 2**63 - 1" : "-2**31 to 2**31 - 1";
}

[[noreturn]] void fail_range(const wire::FieldRow& row, const py::handle& value) {
    throw py::value_error(
        text_from({row.name, ": value out of range: ", to_printable(py::str(value)),
                   "; the field holds ", range_in_words(row.type)}));
}

// An int, from what Python accepts as an index, but no bool.
py::object index_of(const wire::FieldRow& row, const py::handle& value) {
    if (PyBool_Check(value.ptr())) fail_type(row, "an int", value);
    auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
        PyErr_Clear();
        fail_type(row, "an int", value);
    }
    return number;
}

template <class Number>
Number signed_number(const wire::FieldRow& row, const py::handle& value) {
    const py::object number = index_of(row, value);
    int overflow = 0;
    const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0 || !std::in_range<Number>(found)) fail_range(row, number);
    return static_cast<Number>(found);
}

std::uint64_t unsigned_number(const wire::FieldRow& row, const py::handle& value) {
    const py::object number = index_of(row, value);
    const unsigned long long found = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        fail_range(row, number);
    }
    return found;
}

double real_number(const wire::FieldRow& row, const py::handle& value) {
    if (py::isinstance(value, python_object<"numpy", "ndarray">())) {
        fail_type(row, "a number", value);
    }
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred() != nullptr) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
        PyErr_Clear();
        fail_type(row, "a number", value);
    }
    return number;
}

// A number of the enum, or the name of a member.
std::int32_t enum_number(const wire::FieldRow& row, const py::handle& value) {
    const wire::EnumTable& members = onnx::kSchema.enum_of(row);
    if (py::isinstance<py::str>(value)) {
        const std::string name = to_printable(py::reinterpret_borrow<py::str>(value));
        for (const wire::EnumValue& member : members.values) {
            if (member.name == name) return member.number;
        }
        throw py::value_error(text_from({row.name, ": ", members.name, " has no member ", name}));
    }
    const auto number = signed_number<std::int32_t>(row, value);
    if (members.find(number) == nullptr) {
        throw py::value_error(text_from({row.name, ": ", members.name, " has no member ", number}));
    }
    return number;
}

// str as the file has it, or bytes that are UTF-8.
std::string text_of(const wire::FieldRow& row, const py::handle& value) {
    if (PyBytes_Check(value.ptr())) {
        const std::string_view bytes = py::reinterpret_borrow<py::bytes>(value);
        static_cast<void>(owned(
            PyUnicode_DecodeUTF8(bytes.data(), static_cast<py::ssize_t>(bytes.size()), "strict")));
        return std::string(bytes);
    }
    if (!py::isinstance<py::str>(value)) fail_type(row, "a str", value);
    return to_text(py::reinterpret_borrow<py::str>(value));
}

// The content of one value, without its tag.
void write_content(std::string& out, const wire::FieldRow& row, const py::handle& value) {
    const auto write_signed = [&](std::int64_t number) {
        wire::write_varint(out, static_cast<std::uint64_t>(number));
    };
    switch (row.type) {
        case wire::Type::int64: write_signed(signed_number<std::int64_t>(row, value)); break;
        case wire::Type::int32: write_signed(signed_number<std::int32_t>(row, value)); break;
        case wire::Type::enumeration: write_signed(enum_number(row, value)); break;
        case wire::Type::uint64: wire::write_varint(out, unsigned_number(row, value)); break;
        case wire::Type::float32:
            wire::write_fixed<std::uint32_t>(
                out,
                __builtin_bit_cast(std::uint32_t, static_cast<float>(real_number(row, value))));
            break;
        case wire::Type::float64:
            wire::write_fixed<std::uint64_t>(
                out, __builtin_bit_cast(std::uint64_t, real_number(row, value)));
            break;
        default: fail_type(row, "a value", value);
    }
}

// Content with an owner of its own, so that it goes when it is replaced.
model::NewValue owned_text(std::string_view text) {
    auto bytes = std::make_shared<source::OwnedBytes>(text.size());
    std::ranges::copy(as_bytes(text), bytes->writable().begin());
    model::NewValue made;
    made.content = bytes->bytes();
    made.source = std::move(bytes);
    return made;
}

}  // namespace

model::NewValue hold(const py::object& buffer) {
    model::NewValue made;
    made.source = std::make_shared<PythonBuffer>(buffer);
    made.content = made.source->bytes();
    return made;
}

model::NewValue encode(const wire::FieldRow& row, const py::handle& value) {
    if (row.type == wire::Type::bytes) {
        if (!PyBytes_Check(value.ptr())) fail_type(row, "bytes", value);
        const std::string_view bytes = py::reinterpret_borrow<py::bytes>(value);
        if (bytes.size() < model::kLeastHeld) return model::text_value(row, bytes);
        return hold(py::reinterpret_borrow<py::object>(value));
    }
    if (row.type == wire::Type::string) {
        const std::string text = text_of(row, value);
        const bool is_held = model::is_text_held(row) && text.size() >= model::kLeastHeld;
        return is_held ? owned_text(text) : model::text_value(row, text);
    }
    model::NewValue made;
    wire::write_tag(made.encoded, row.number, row.wire_type());
    write_content(made.encoded, row, value);
    return made;
}

void check_is_list(const wire::FieldRow& row, const py::handle& values) {
    if (!py::isinstance<py::str>(values) && !py::isinstance<py::bytes>(values)) return;
    throw py::type_error(std::string(row.name) + ": expected a list, not a single " +
                         type_name(values) + "; put it into a list");
}

py::iterator elements_of(const wire::FieldRow& row, const py::handle& values) {
    if (Py_TYPE(values.ptr())->tp_iter == nullptr && PySequence_Check(values.ptr()) == 0) {
        fail_type(row, "an iterable", values);
    }
    return py::iter(values);
}

std::vector<model::NewValue> encode_all(const wire::FieldRow& row, const py::handle& values) {
    std::vector<model::NewValue> made;
    std::string run;
    for (const py::handle value : elements_of(row, values)) {
        if (row.packed) {
            write_content(run, row, value);
        } else {
            made.push_back(encode(row, value));
        }
    }
    if (run.empty()) return made;
    made.push_back(run.size() < model::kLeastHeld ? model::text_value(row, run) : owned_text(run));
    return made;
}

}  // namespace onnxmap::bindings
