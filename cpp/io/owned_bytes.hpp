// Bytes that were made or read just now, and belong to nothing else.
#pragma once

#include <memory>
#include <span>

#include "io/source.hpp"

namespace onnxmap::io {

class OwnedBytes final : public Source {
  public:
    /// Uninitialised, aligned to 64 bytes, a cache line. Throws std::bad_alloc.
    explicit OwnedBytes(std::uint64_t nbytes);

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

    /// To be filled before the source is shared.
    [[nodiscard]] std::span<std::uint8_t> writable() noexcept { return {memory_.get(), size_}; }

  private:
    struct Free {
        void operator()(std::uint8_t* memory) const noexcept;
    };

    std::unique_ptr<std::uint8_t[], Free> memory_;
};

}  // namespace onnxmap::io
