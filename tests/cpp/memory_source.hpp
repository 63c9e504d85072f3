// A source over bytes that the test owns, in a heap block of the exact size.
#pragma once

#include "placed_bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::test {

class MemorySource : public source::Source {
  public:
    explicit MemorySource(ByteView bytes) : copy_(bytes) {
        data_ = copy_.data();
        size_ = bytes.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

    /// Lets a test change the bytes under a document, as the owner of a buffer may.
    [[nodiscard]] std::uint8_t* writable() noexcept { return copy_.data(); }

  private:
    HeapCopy copy_;
};

}  // namespace onnxmap::test
