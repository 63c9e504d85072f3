// Calls the structure pass for tests.
#pragma once

#include <string>

#include "base/byte_feed.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "reference_parser.hpp"
#include "tensor/payload.hpp"
#include "wire/structure_pass.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

/// As a model is read: with an index of its graph, and a count of its tensors.
[[nodiscard]] inline wire::PassOptions model_options() {
    wire::PassOptions options;
    options.indexed_child = &onnx::field<"ModelProto.graph">;
    options.payload_message = &onnx::message<"TensorProto">;
    options.payload_fields = tensor::kPayloadFields;
    return options;
}

[[nodiscard]] inline wire::Structure model_structure(
    ByteFeed& feed, const wire::PassOptions& options = model_options()) {
    return wire::read_structure(feed, onnx::kSchema, onnx::message<"ModelProto">, options);
}

[[nodiscard]] inline wire::Structure model_structure(
    ByteView bytes, const wire::PassOptions& options = model_options()) {
    MemoryFeed feed(bytes);
    return model_structure(feed, options);
}

[[nodiscard]] inline Verdict verdict_of(ByteFeed& feed,
                                        const wire::PassOptions& options = model_options()) {
    try {
        static_cast<void>(model_structure(feed, options));
    } catch (const Error& error) {
        return {error.code, error.offset.value_or(UINT64_MAX)};
    }
    return {};
}

[[nodiscard]] inline Verdict verdict_of(ByteView bytes,
                                        const wire::PassOptions& options = model_options()) {
    MemoryFeed feed(bytes);
    return verdict_of(feed, options);
}

}  // namespace onnxmap::test
