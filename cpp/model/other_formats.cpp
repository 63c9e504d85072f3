#include "model/other_formats.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "wire/reader.hpp"

namespace onnxmap::model {

namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view begins;
    std::size_t at;
    std::string_view name;
};

constexpr std::array kSignatures = {
    Signature{"version https://git-lfs"sv, 0, "a Git LFS pointer (run `git lfs pull`)"},
    Signature{"PK\x03\x04"sv, 0, "a ZIP archive (a PyTorch checkpoint, or a packed model?)"},
    Signature{"GGUF"sv, 0, "a GGUF file"},
    Signature{"ORTM"sv, 4, "an ONNX Runtime (ORT) flatbuffer"},
    Signature{"\x89PNG"sv, 0, "a PNG image"},
    Signature{"\x80\x02"sv, 0, "a Python pickle"},
    Signature{"\x80\x03"sv, 0, "a Python pickle"},
    Signature{"\x80\x04"sv, 0, "a Python pickle"},
    Signature{"\x80\x05"sv, 0, "a Python pickle"},
    Signature{"\x89HDF"sv, 0, "an HDF5 file"},
    Signature{"\x1f\x8b"sv, 0, "a gzip file"},
    Signature{"\xfd\x37zXZ"sv, 0, "an xz file"},
    Signature{"BZh"sv, 0, "a bzip2 file"},
    Signature{"\x28\xb5\x2f\xfd"sv, 0, "a Zstandard file"},
    Signature{"ustar"sv, 257, "a tar archive"},
    Signature{"\x93NUMPY"sv, 0, "a NumPy file (numpy.load reads it)"},
    Signature{"TFL3"sv, 4, "a TensorFlow Lite model"},
};

std::size_t skip_blanks(std::string_view text) noexcept {
    return std::min(text.find_first_not_of(" \t\r\n"), text.size());
}

bool looks_like_markup(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || first + 1 >= text.size() || text[first] != '<') {
        return false;
    }
    const char next = text[first + 1];
    return next == '!' || next == '?' || ((next | 0x20) >= 'a' && (next | 0x20) <= 'z');
}

// The form that onnx.parser reads, *.onnxtxt: the fields of the model in angle brackets.
bool looks_like_onnx_text(std::string_view text) noexcept {
    text.remove_prefix(skip_blanks(text));
    if (!text.starts_with('<')) return false;
    text.remove_prefix(1);
    text.remove_prefix(skip_blanks(text));
    return text.starts_with("ir_version") || text.starts_with("opset_import");
}

bool looks_like_openvino(std::string_view text) noexcept {
    text.remove_prefix(skip_blanks(text));
    return text.starts_with("<?xml") && text.find("<net ") != std::string_view::npos;
}

// The length of the JSON header as eight bytes, of which the upper four are zero, then the header.
bool looks_like_safetensors(std::string_view text) noexcept {
    return text.size() > 9 && text.substr(4, 4) == "\0\0\0\0"sv && text[8] == '{' &&
           (text[9] == '"' || text[9] == '}');
}

// An object or an array: what follows its bracket can begin or end its content.
bool looks_like_json(std::string_view text) noexcept {
    text.remove_prefix(skip_blanks(text));
    if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
    const bool is_object = text[0] == '{';
    text.remove_prefix(1);
    text.remove_prefix(skip_blanks(text));
    if (text.empty()) return false;
    return is_object ? text[0] == '"' || text[0] == '}' : text[0] == '{' || text[0] == ']';
}

void skip_blanks_and_comments(std::string_view& text) noexcept {
    text.remove_prefix(skip_blanks(text));
    while (text.starts_with('#')) {
        text.remove_prefix(std::min(text.find('\n'), text.size()));
        text.remove_prefix(skip_blanks(text));
    }
}

// Removes the name of a field at the front and returns it.
std::string_view take_name(std::string_view& text) noexcept {
    const auto is_part = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
    const auto length =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_part) - text.begin());
    const std::string_view name = text.substr(0, length);
    text.remove_prefix(length);
    return name;
}

// Whether both names are the same field in JSON, which may write op_type as opType.
bool is_same_key(std::string_view a, std::string_view b) {
    const auto plain = [](std::string_view name) {
        std::string made;
        for (const char c : name) {
            if (c != '_') made += lower(c);
        }
        return made;
    };
    return plain(a) == plain(b);
}

bool has_control_character(std::string_view text) noexcept {
    return std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < ' ' && c != '\t' && c != '\r' && c != '\n';
    });
}

bool begins_as_text(std::string_view text) noexcept {
    skip_blanks_and_comments(text);
    const std::string_view name = take_name(text);
    skip_blanks_and_comments(text);
    const bool is_field = !text.empty() && ":{<"sv.find(text.front()) != std::string_view::npos;
    return is_field && onnx::message<"ModelProto">.find(name) != nullptr;
}

bool begins_as_json(std::string_view text) {
    const auto take = [&](char c) {
        text.remove_prefix(skip_blanks(text));
        const bool is_there = text.starts_with(c);
        if (is_there) text.remove_prefix(1);
        return is_there;
    };
    if (!take('{') || !take('"')) return false;
    const std::string_view key = take_name(text);
    if (!text.starts_with('"')) return false;
    text.remove_prefix(1);
    return take(':') && std::ranges::any_of(
                            onnx::message<"ModelProto">.fields,
                            [&](const wire::FieldRow& row) { return is_same_key(row.name, key); });
}

// The name of a field, then a colon or a brace. A comment may come first.
bool looks_like_text_format(std::string_view text) noexcept {
    skip_blanks_and_comments(text);
    const std::size_t name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (name == std::string_view::npos || name < 2) return false;
    text.remove_prefix(name);
    text.remove_prefix(skip_blanks(text));
    return text.starts_with(':') || text.starts_with('{');
}

// The numbers of the fields of the message that `head` begins with, as bits. The first thing that
// is no such field ends them.
std::uint32_t fields_at_start(ByteView head, const wire::MessageTable& message) {
    const std::uint8_t* p = head.data();
    const std::uint8_t* const end = p + head.size();
    std::uint32_t numbers = 0;
    while (p < end) {
        const wire::Varint tag = wire::read_varint(p, end);
        if (tag.nbytes <= 0 || tag.value > wire::kMaxTag) break;
        const auto number = static_cast<std::uint32_t>(tag.value >> 3);
        const wire::FieldRow* const row = message.find(number);
        if (row == nullptr || !row->accepts(static_cast<wire::WireType>(tag.value & 7))) break;
        numbers |= std::uint32_t{1} << number;
        wire::Field field;
        try {
            wire::Reader(p, end).next(field);
        } catch (const Error&) {  // the head ends inside the field
            break;
        }
        p = field.end;
    }
    return numbers;
}

struct KnownFile {
    const wire::MessageTable* message;
    std::string_view name;
};

// The messages that recognize_onnx() knows.
constexpr std::array kKnown = {&onnx::message<"ModelProto">, &onnx::message<"TensorProto">,
                               &onnx::message<"OperatorSetProto">};

// A model has a graph, or a version and another field. A tensor has a data type, for which a model
// has no field.
KnownFile recognize_onnx(ByteView head) {
    const auto& model = onnx::message<"ModelProto">;
    const auto& tensor = onnx::message<"TensorProto">;
    constexpr auto bit = [](const wire::FieldRow& row) { return std::uint32_t{1} << row.number; };
    if (as_text(head).starts_with("\x0a\x09ONNXOPSET"sv)) {
        return {&onnx::message<"OperatorSetProto">,
                "an operator set (onnxmap.load_operator_set reads it)"};
    }
    if ((fields_at_start(head, tensor) & bit(onnx::field<"TensorProto.data_type">)) != 0) {
        return {&tensor, "a tensor (onnxmap.load_tensor reads it)"};
    }
    const std::uint32_t version = bit(onnx::field<"ModelProto.ir_version">);
    const std::uint32_t of_model = fields_at_start(head, model);
    const bool has_graph = (of_model & bit(onnx::field<"ModelProto.graph">)) != 0;
    if (has_graph || ((of_model & version) != 0 && of_model != version)) {
        return {&model, "a model (onnxmap.load reads it)"};
    }
    return {nullptr, ""};
}

bool is_text(std::string_view head) noexcept {
    return !head.empty() && std::ranges::all_of(head, [](char c) {
        return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
    });
}

std::string in_words(const wire::MessageTable& message) {
    if (message.name == "ModelProto") return "an ONNX model";
    if (message.name == "TensorProto") return "a tensor";
    if (message.name == "OperatorSetProto") return "an operator set";
    const bool vowel = "AEIOU"sv.find(message.name[0]) != std::string_view::npos;
    return (vowel ? "an " : "a ") + std::string(message.name);
}

}  // namespace

std::string_view recognize(ByteView head) noexcept {
    const std::string_view text = as_text(head);
    for (const Signature& signature : kSignatures) {
        if (text.size() > signature.at && text.substr(signature.at).starts_with(signature.begins)) {
            return signature.name;
        }
    }
    if (looks_like_onnx_text(text)) {
        return "ONNX's own text form (onnx.parser.parse_model reads it)";
    }
    if (looks_like_openvino(text)) return "an OpenVINO model";
    if (looks_like_markup(text)) {
        return "an HTML page (was the download a login or error page?)";
    }
    if (looks_like_safetensors(text)) {
        return "a safetensors file (onnxmap.load_safetensors reads it)";
    }
    if (looks_like_json(text)) return "JSON text, not a serialized model";
    if (looks_like_text_format(text)) {
        return "protobuf's text format (google.protobuf.text_format reads it)";
    }
    return "";
}

std::string_view looks_like(ByteView head) {
    std::string_view kind = recognize(head);
    if (kind.empty()) kind = recognize_onnx(head).name;
    return kind.empty() && is_text(as_text(head)) ? "text" : kind;
}

std::string_view text_form_of_model(ByteView head) {
    std::string_view text = as_text(head);
    if (has_control_character(text)) return "";
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (begins_as_json(text)) return "json";
    return begins_as_text(text) ? "textproto" : "";
}

std::string why_not(ByteView head, const wire::MessageTable& message) {
    std::string_view kind = recognize(head);
    const bool fits = fields_at_start(head, message) != 0;
    const KnownFile found = recognize_onnx(head);
    // A file of a kind that recognize_onnx() knows may begin with fields of other messages, too.
    const bool is_sure = std::ranges::find(kKnown, &message) != kKnown.end();
    if (kind.empty() && found.message != &message && (is_sure || !fits)) kind = found.name;
    if (kind.empty() && is_text(as_text(head))) kind = "text";
    if (!kind.empty()) {
        return "this is not " + in_words(message) + "; it looks like " + std::string(kind);
    }
    return fits || head.empty() ? "" : "this is not " + in_words(message);
}

}  // namespace onnxmap::model
