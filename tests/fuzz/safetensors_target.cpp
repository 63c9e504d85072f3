// A safetensors file, or an index of shards: it is loaded as a model and everything in it is read,
// or it is refused. The header of an accepted file is written and read again as the same one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "memory_source.hpp"
#include "model/load_weights.hpp"
#include "onnx/schema.hpp"
#include "safetensors/header.hpp"

namespace onnxmap::fuzz {

namespace {

bool is_same(const safetensors::Entry& a, const safetensors::Entry& b) {
    return a.name == b.name && a.type == b.type && a.shape == b.shape && a.begin == b.begin &&
           a.end == b.end;
}

void compare_headers(ByteView file) {
    const std::uint64_t json = safetensors::json_nbytes(file, file.size());
    const ByteView text = file.subspan(safetensors::kLengthBytes, json);
    const std::uint64_t data = file.size() - safetensors::kLengthBytes - json;
    const safetensors::Header header = safetensors::parse_header(as_text(text), data);
    const std::string written = safetensors::header_bytes(header.tensors, header.metadata);
    const std::string_view again = std::string_view(written).substr(safetensors::kLengthBytes);
    const safetensors::Header back = safetensors::parse_header(again, data);
    require(std::ranges::equal(header.tensors, back.tensors, is_same), "other tensors");
    require(header.metadata == back.metadata, "other metadata");
}

}  // namespace

MessagePart message_of(ByteView input) { return {input.first(0), nullptr}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView file(data, size);
    const fuzz::WorkLimit limit(size);
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    try {
        const auto document = model::load_safetensors(
            std::make_shared<const test::MemorySource>(file), "w.safetensors", options);
        fuzz::read_document(*document);
        if (safetensors::begins_file(file, size)) fuzz::compare_headers(file);
    } catch (const Error& error) {
        const bool is_known = error.code.starts_with("model.") || error.code.starts_with("ext.") ||
                              error.code.starts_with("tensor.") || error.code.starts_with("limit.");
        fuzz::require(is_known, error.what());
    }
    return 0;
}
