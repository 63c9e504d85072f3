// A buffer as a message of any type of the schema: its verdict compared with that of a naive
// parser, through the most unhelpful feed, and everything in it read.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "feeds.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "reference_parser.hpp"
#include "tensor/payload.hpp"
#include "wire/structure_pass.hpp"

namespace onnxmap::fuzz {

namespace {

// Small limits, which short inputs reach.
constexpr std::uint32_t kLowDepth = 6;
constexpr std::uint64_t kFewTensors = 4;
constexpr std::uint64_t kFewPieces = 4;

wire::PassOptions pass_options(const wire::MessageTable& root, std::uint64_t ways) {
    wire::PassOptions options;
    options.payload_message = &onnx::message<"TensorProto">;
    options.payload_fields = tensor::kPayloadFields;
    if (&root == &onnx::message<"ModelProto">) {
        options.indexed_child = &onnx::field<"ModelProto.graph">;
    }
    options.scan_packed = ways % 4 != 1;
    if (ways % 4 == 2) {
        options.max_depth = kLowDepth;
        options.max_payload_messages = kFewTensors;
    }
    return options;
}

void compare_verdicts(ByteView bytes, const wire::MessageTable& root,
                      const wire::PassOptions& options) {
    const test::ReferenceParser reference(bytes, onnx::kSchema, root, options);
    test::Verdict verdict;
    test::LeastFeed feed(bytes);
    try {
        static_cast<void>(wire::read_structure(feed, onnx::kSchema, root, options));
    } catch (const Error& error) {
        verdict = {error.code, error.offset.value_or(UINT64_MAX)};
    }
    if (verdict == reference.verdict) return;
    const std::string difference = verdict.code + " at " + std::to_string(verdict.offset) +
                                   ", the naive parser says " + reference.verdict.code + " at " +
                                   std::to_string(reference.verdict.offset);
    fail(difference.c_str());
}

}  // namespace

MessagePart message_of(ByteView input) {
    if (input.empty()) return {input, nullptr};
    const auto types = onnx::kSchema.messages;
    return {input.subspan(1), &types[input[0] % types.size()]};
}

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    if (size == 0) return 0;
    const fuzz::WorkLimit limit(size);
    const fuzz::MessagePart message = fuzz::message_of({data, size});
    const ByteView bytes = message.bytes;
    const wire::MessageTable& root = *message.root;
    const std::uint64_t ways = fuzz::hash_of(bytes);
    const wire::PassOptions pass = fuzz::pass_options(root, ways);
    fuzz::compare_verdicts(bytes, root, pass);
    model::LoadOptions options;
    options.root = &root;
    options.scan_packed = pass.scan_packed;
    options.limits.depth = pass.max_depth;
    if (ways % 4 == 2) {
        options.limits.tensors = fuzz::kFewTensors;
        options.limits.pieces = fuzz::kFewPieces;
    }
    fuzz::load_and_read(std::make_shared<test::MemorySource>(bytes), options, false,
                        options.scan_packed ? fuzz::InputBytes::constant : fuzz::InputBytes::lazy);
    return 0;
}
