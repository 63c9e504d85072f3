#include "model/recognize.hpp"

#include <algorithm>
#include <array>

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
    Signature{"\x93NUMPY"sv, 0, "a NumPy file (numpy.load reads it)"},
    Signature{"TFL3"sv, 4, "a TensorFlow Lite model"},
};

bool looks_like_markup(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || first + 1 >= text.size() || text[first] != '<') {
        return false;
    }
    const char next = text[first + 1];
    return next == '!' || next == '?' || ((next | 0x20) >= 'a' && (next | 0x20) <= 'z');
}

// The length of the JSON header as eight bytes, of which the upper four are zero, then the header.
bool looks_like_safetensors(std::string_view text) noexcept {
    return text.size() > 9 && text.substr(4, 4) == "\0\0\0\0"sv && text[8] == '{' &&
           (text[9] == '"' || text[9] == '}');
}

std::size_t skip_blanks(std::string_view text) noexcept {
    return std::min(text.find_first_not_of(" \t\r\n"), text.size());
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

// The name of a field, then a colon or a brace. A comment may come first.
bool looks_like_text_format(std::string_view text) noexcept {
    text.remove_prefix(skip_blanks(text));
    while (text.starts_with('#')) {
        text.remove_prefix(std::min(text.find('\n'), text.size()));
        text.remove_prefix(skip_blanks(text));
    }
    const std::size_t name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
    if (name == std::string_view::npos || name < 2) return false;
    text.remove_prefix(name);
    text.remove_prefix(skip_blanks(text));
    return text.starts_with(':') || text.starts_with('{');
}

}  // namespace

std::string_view recognize(ByteView head) noexcept {
    const std::string_view text = as_text(head);
    for (const Signature& signature : kSignatures) {
        if (text.size() > signature.at && text.substr(signature.at).starts_with(signature.begins)) {
            return signature.name;
        }
    }
    if (looks_like_markup(text)) {
        return "an HTML page (was the download a login or error page?)";
    }
    if (looks_like_safetensors(text)) return "a safetensors file";
    if (looks_like_json(text)) return "JSON text, not a serialized model";
    if (looks_like_text_format(text)) {
        return "protobuf's text format (google.protobuf.text_format reads it)";
    }
    return "";
}

}  // namespace onnxmap::model
