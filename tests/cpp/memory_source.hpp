// A source over bytes that the test holds, in a heap block of the exact size.
#pragma once

#include "io/source.hpp"
#include "placed_bytes.hpp"

namespace onnxmap::test {

class MemorySource final : public io::Source {
  public:
    explicit MemorySource(ByteView bytes) : copy_(bytes) {
        data_ = copy_.data();
        size_ = bytes.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

    /// To change bytes under a document, as the owner of a buffer may.
    [[nodiscard]] std::uint8_t* writable() noexcept { return copy_.data(); }

  private:
    HeapCopy copy_;
};

}  // namespace onnxmap::test
