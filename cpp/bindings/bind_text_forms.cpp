// Messages in protobuf's text format and in JSON.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "onnx/json_format.hpp"
#include "onnx/numbered_fields.hpp"
#include "onnx/text_format.hpp"

namespace onnxmap::bindings {

namespace {

onnx::TextOptions text_options(const ProtoView& view, std::uint64_t longest, bool limited = true) {
    onnx::TextOptions options;
    options.longest = longest;
    if (limited) options.max_bytes = view.document->limits().text_bytes;
    options.max_depth = view.document->limits().depth;
    options.resident = [&view, copy = std::vector<std::uint8_t>()](ByteView bytes) mutable {
        return view.document->readable(bytes, copy);
    };
    return options;
}

// The largest character whose UTF-8 may begin with this byte, as PyUnicode_New needs it.
constexpr Py_UCS4 largest_led_by(unsigned char byte) noexcept {
    if (byte < 0xc2) return 0x7f;
    if (byte < 0xc4) return 0xff;
    return byte < 0xf0 ? 0xffff : 0x10ffff;
}

// Python's string of what `print(write)` writes. It is written twice, first to count its
// characters: the text may take most of the memory, and two copies would not fit.
template <class Print>
py::str whole(Print&& print) {
    std::uint64_t length = 0;  // in characters
    Py_UCS4 largest = 0x7f;
    print([&](std::string_view part) {
        for (const char c : part) {
            const auto byte = static_cast<unsigned char>(c);
            if ((byte & 0xc0) != 0x80) ++length;
            largest = std::max(largest, largest_led_by(byte));
        }
    });
    auto text = owned<py::str>(PyUnicode_New(static_cast<Py_ssize_t>(length), largest));
    std::uint64_t written = 0;
    print([&](std::string_view part) {
        const py::str here = to_str(part);
        const auto count = static_cast<std::uint64_t>(PyUnicode_GET_LENGTH(here.ptr()));
        if (count > length - written || PyUnicode_MAX_CHAR_VALUE(here.ptr()) > largest) {
            fail_changed();
        }
        if (PyUnicode_CopyCharacters(text.ptr(), static_cast<Py_ssize_t>(written), here.ptr(), 0,
                                     static_cast<Py_ssize_t>(count)) < 0) {
            throw py::error_already_set();
        }
        written += count;
    });
    if (written != length) fail_changed();
    return text;
}

py::str text_of(const ProtoView& view, std::uint64_t longest, bool unknown_fields) {
    onnx::TextOptions options = text_options(view, longest);
    options.unknown_fields = unknown_fields;
    return whole([&](auto&& write) { onnx::write_text(view.message(), options, write); });
}

// Elements of lists become objects of Python, whose size counts as well.
constexpr std::uint64_t kObjectBytes = 64;

py::str json_of(const ProtoView& view, std::optional<std::uint32_t> indent, bool proto_names) {
    onnx::JsonOptions options{text_options(view, UINT64_MAX), proto_names};
    options.indent = indent;
    options.element_nbytes = kObjectBytes;
    return whole([&](auto&& write) { onnx::write_json(view.message(), options, write); });
}

py::object to_dict(const ProtoView& view, bool proto_names) {
    return python_object<"json", "loads">()(json_of(view, {}, proto_names));
}

void write_text(const ProtoView& view, const py::object& write, std::uint64_t longest, bool limited,
                bool unknown_fields) {
    onnx::TextOptions options = text_options(view, longest, limited);
    options.unknown_fields = unknown_fields;
    onnx::write_text(view.message(), options, [&](std::string_view part) { write(to_str(part)); });
}

void write_json(const ProtoView& view, const py::object& write, std::uint64_t longest,
                const std::optional<std::string>& field, std::optional<std::uint64_t> index) {
    constexpr std::uint32_t kIndent = 2;
    const onnx::JsonOptions options{text_options(view, longest, false), true, kIndent};
    const auto pass_on = [&](std::string_view part) { write(to_str(part)); };
    if (field) {
        onnx::write_json(view.message(), row_named(view, *field), index, options, pass_on);
    } else {
        onnx::write_json(view.message(), options, pass_on);
    }
}

py::bytes parse_text(const py::str& text, std::string_view message, const py::object& parse) {
    constexpr const char* kLoneSurrogates =
        "surrogatepass";  // in comments, protobuf's parser allows them
    const auto& table = message_named(message);
    const py::bytes utf8 = text.attr("encode")("utf-8", kLoneSurrogates);
    const onnx::SplitText split = onnx::split_numbered(std::string_view(utf8), table);
    const auto rest = py::bytes(split.rest).attr("decode")("utf-8", kLoneSurrogates);
    const py::bytes data = parse(rest).attr("SerializeToString")();
    if (split.numbered.empty()) return data;
    return onnx::insert_numbered(as_bytes(std::string_view(data)), table, split.numbered);
}

}  // namespace

void bind_text_forms(py::module_& module, GuardedClass<ProtoView>& cls) {
    module.def("parse_text", parse_text, py::arg("text"), py::arg("message"), py::arg("parse"),
               "Return the bytes of the message that a text describes, with the unknown fields "
               "that it has by number. `parse` makes protobuf's message of the rest of the text.");
    cls.def("to_text", text_of, py::arg("longest") = UINT64_MAX,
            py::arg("print_unknown_fields") = false,
            R"(Return the message in protobuf's text format.

Args:
    longest: strings, bytes and packed values longer than this are cut.
    print_unknown_fields: print them after the others, by their numbers. Bytes are printed as a
        string, even if they may be a message.

Raises:
    LimitError: `limit.text_bytes`: the text has more than `Limits(text_bytes=...)` bytes.)")
        .def("to_dict", to_dict, py::arg("preserving_proto_field_name") = false,
             R"(Return the message as a dict, as protobuf's JSON mapping defines it.

64-bit integers become strings, bytes become Base64, enums become names. Unknown fields are left out.

Args:
    preserving_proto_field_name: use the names of onnx.proto instead of lowerCamelCase.

Raises:
    LimitError: `limit.text_bytes`: the result takes more than about `Limits(text_bytes=...)` bytes.)")
        .def("to_json", json_of, py::arg("indent") = 2,
             py::arg("preserving_proto_field_name") = false,
             R"(Return to_dict() as JSON, the text that protobuf's MessageToJson writes.

Args:
    indent: spaces for each level; None for one line.
    preserving_proto_field_name: as for to_dict().)")
        .def("__str__", [](const ProtoView& self) { return text_of(self, UINT64_MAX, false); })
        .def("write_text", write_text, py::arg("write"), py::arg("longest") = UINT64_MAX,
             py::arg("limited") = false, py::arg("print_unknown_fields") = false,
             R"(Call `write` with the text of to_text(), in parts: the whole may not fit in memory.

Args:
    write: a function that takes a str.
    longest: as for to_text().
    limited: raise a LimitError as to_text() does.
    print_unknown_fields: as for to_text().)")
        .def("write_json", write_json, py::arg("write"), py::arg("longest") = UINT64_MAX,
             py::arg("field") = py::none(), py::arg("index") = py::none(),
             R"(Call `write` with the JSON of the message in parts, with the names of onnx.proto.

Args:
    write: a function that takes a str.
    longest: as for to_text(). A longer value becomes an object with its length and first part.
    field: write the value of this field alone.
    index: write this element of the field's list alone.)");
}

}  // namespace onnxmap::bindings
