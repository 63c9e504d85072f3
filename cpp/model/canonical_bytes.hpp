// A message in the bytes that protobuf writes: known fields by number in their shortest form, then
// the unknown ones. Equal messages have equal bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "model/document.hpp"
#include "model/flatten.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

class CanonicalBytes {
  public:
    /// Throws Error `limit.depth` if edits nested messages too deeply.
    CanonicalBytes(const Document& document, onnx::Message message);

    /// Bytes that write() passes on.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return sizes_.front(); }

    /// Throws Error `file.changed` if the message has another size now.
    void write(ByteSink& sink) const;

  private:
    class Writer;

    std::uint64_t measure(const onnx::Message& message, std::uint32_t depth_left);
    std::uint64_t measure_packed(const onnx::Message& message, const wire::FieldRow& row);

    const Document& document_;
    onnx::Message message_;
    std::vector<std::uint64_t> sizes_;  // of messages and packed runs, in the order of writing
};

}  // namespace onnxmap::model
