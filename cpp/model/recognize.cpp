#include "model/recognize.hpp"

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
    return looks_like_safetensors(text) ? "a safetensors file" : "";
}

}  // namespace onnxmap::model
