// Prints a dictionary for libFuzzer: the tags of the schema, values that mean something in a model,
// and locations that are traps.
#include <cstdio>
#include <set>
#include <string_view>

#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"
#include "wire_bytes.hpp"

namespace {

using namespace onnxmap;
using test::Bytes;

void print(const Bytes& word) {
    std::fputc('"', stdout);
    for (const std::uint8_t byte : word) std::printf("\\x%02x", byte);
    std::fputs("\"\n", stdout);
}

constexpr std::uint64_t kNumbers[] = {
    0,
    1,
    0x7f,
    0x80,
    0xffff,
    1ULL << 31,
    (1ULL << 31) - 1,
    1ULL << 32,
    1ULL << 35,
    1ULL << 62,
    (1ULL << 63) - 1,
    1ULL << 63,
    UINT64_MAX,
};

constexpr std::string_view kTexts[] = {
    "location",
    "offset",
    "length",
    "checksum",
    "w",
    "../",
    "..\\",
    "/../",
    "./",
    "//",
    "/etc/passwd",
    "C:",
    "\\\\host",
    "/proc/self/fd/0",
    "/proc/self/environ",
    "con",
    "nul.bin",
    "com1",
    "lpt\xc2\xb9",
    "_ORT_MEM_ADDR_",
    "a..b",
    "sub/",
    "w.bin",
    "dynamic1",
    "dynamic2",
    "outside",
    "canary",
    "18446744073709551616",
};

}  // namespace

int main() {
    std::set<Bytes> words;
    for (const wire::MessageTable& message : onnx::kSchema.messages) {
        for (const wire::FieldRow& row : message.fields) {
            words.insert(test::tag(row.number, row.wire_type()));
            if (row.packable())
                words.insert(test::tag(row.number, wire::WireType::length_delimited));
        }
    }
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        words.insert(test::scalar(onnx::field<"TensorProto.data_type">.number,
                                  static_cast<std::uint64_t>(type.type)));
    }
    words.insert(test::scalar(onnx::field<"TensorProto.data_location">.number, 1));
    words.insert(test::tag(1000, wire::WireType::start_group));
    words.insert(test::tag(1000, wire::WireType::end_group));
    for (const std::uint64_t number : kNumbers) {
        words.insert(test::varint(number));
        words.insert(test::varint(number, 10));
    }
    words.insert(test::repeat(11, {0x80}));
    for (const std::string_view text : kTexts) words.insert(test::from_text(text));
    words.insert(Bytes{'w', 0, 'x'});
    for (const Bytes& word : words) print(word);
}
