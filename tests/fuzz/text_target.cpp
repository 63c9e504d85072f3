// A text in protobuf's text format: fields that it names by number are taken out and inserted into
// a message. The rest of the text keeps its lines and columns, and what was inserted is printed and
// read again as the same text. The first byte chooses the type of the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "onnx/numbered_fields.hpp"
#include "onnx/schema.hpp"
#include "onnx/text_format.hpp"
#include "wire/writer.hpp"

namespace onnxmap::fuzz {

namespace {

/// A message that has every message of `fields`, each without fields.
std::string message_for(const onnx::NumberedFields& fields, const wire::MessageTable& table) {
    std::map<std::uint32_t, std::map<std::uint64_t, std::string>> contents;
    for (const auto& [number, index, inner] : fields.inner) {
        const wire::FieldRow* const row = table.find(number);
        require(row != nullptr && row->is_message(), "a field of the rest holds no message");
        contents[number][index] = message_for(inner, onnx::kSchema.message_of(*row));
    }
    std::string out;
    for (const auto& [number, messages] : contents) {
        std::uint64_t next = 0;
        for (const auto& [index, content] : messages) {
            for (; next < index; ++next) wire::write_head(out, number, 0);
            wire::write_head(out, number, content.size());
            out += content;
            ++next;
        }
    }
    return out;
}

std::string as_blanks(std::string_view text) {
    std::string blanks;
    for (const char c : text) {
        const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
        if (!continues) blanks += c == '\n' ? '\n' : ' ';
    }
    return blanks;
}

/// The text of a message that has the numbered fields of `text`.
std::string printed(std::string_view text, const wire::MessageTable& table) {
    const onnx::SplitText split = onnx::split_numbered(text, table);
    require(as_blanks(split.rest) == as_blanks(text), "the rest has other lines or columns");
    const onnx::SplitText again = onnx::split_numbered(split.rest, table);
    require(again.numbered.empty() && again.rest == split.rest, "the rest has numbered fields");

    const std::string rest = message_for(split.numbered, table);
    const std::string whole =
        onnx::insert_numbered(as_bytes(std::string_view(rest)), table, split.numbered);
    onnx::TextOptions options;
    options.unknown_fields = true;
    std::string out;
    onnx::write_text({table, as_bytes(std::string_view(whole))}, options,
                     [&](std::string_view part) { out += part; });
    return out;
}

}  // namespace

MessagePart message_of(ByteView input) { return {input.first(0), nullptr}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    if (size == 0) return 0;
    const fuzz::WorkLimit limit(size);
    const auto types = onnx::kSchema.messages;
    const wire::MessageTable& table = types[data[0] % types.size()];
    try {
        const std::string text = fuzz::printed(as_text({data + 1, size - 1}), table);
        fuzz::require(fuzz::printed(text, table) == text, "the printed text reads as another");
    } catch (const Error& error) {
        fuzz::require(error.code == "limit.depth", error.what());
    }
    return 0;
}
