// The flat form of a message in memory, as bytes or as the ranges that it consists of.
#pragma once

#include <vector>

#include "model/flatten.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

/// A range of the document, or new bytes.
struct FlatPart {
    ByteView range;  // empty if `added` has bytes
    Bytes added;
};

class PartSink final : public model::ByteSink {
  public:
    void take(ByteView bytes) override { parts.push_back({bytes, {}}); }
    void take_new(ByteView bytes) override { parts.push_back({{}, join(bytes)}); }

    [[nodiscard]] Bytes bytes() const {
        Bytes all;
        for (const FlatPart& part : parts) {
            append(all, part.range);
            append(all, part.added);
        }
        return all;
    }

    std::vector<FlatPart> parts;
};

[[nodiscard]] inline PartSink flat_parts(const model::Document& document,
                                         const onnx::Message& message) {
    PartSink sink;
    model::FlatMessage(document, message).write(sink);
    return sink;
}

[[nodiscard]] inline Bytes flat_bytes(const model::Document& document,
                                      const onnx::Message& message) {
    return flat_parts(document, message).bytes();
}

}  // namespace onnxmap::test
