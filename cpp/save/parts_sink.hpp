// Collects the bytes of a message as parts of a file.
#pragma once

#include "model/flatten.hpp"
#include "save/parts.hpp"
#include "save/tensor_edits.hpp"

namespace onnxmap::save {

class PartsSink final : public model::ByteSink {
  public:
    /// `edits`: those that the message was flattened with. Both must outlive this object.
    PartsSink(const TensorEdits& edits, Parts& parts) : edits_(edits), parts_(parts) {}

    void take(ByteView bytes) override {
        auto source = edits_.source_of(bytes);
        if (source->in_memory() && bytes.size() < kLeastRange) {
            parts_.copy(bytes);
        } else {
            parts_.range(source, source->offset_of(bytes), bytes.size());
        }
    }
    void take_new(ByteView bytes) override { parts_.copy(bytes); }

  private:
    static constexpr std::uint64_t kLeastRange = 4096;  // fewer bytes in memory are copied

    const TensorEdits& edits_;
    Parts& parts_;
};

}  // namespace onnxmap::save
