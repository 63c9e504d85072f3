// What takes the bytes of a file.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/no_copy.hpp"
#include "os/file.hpp"

namespace onnxmap::os {

/// Takes the bytes of a file in order. Exceptions reach the caller unchanged.
class Sink : NoCopy {
  public:
    virtual ~Sink() = default;

    /// Takes all of the bytes, which are valid only during the call.
    virtual void write(ByteView bytes) = 0;

    /// Takes bytes straight from a file. Returns how many, from `offset` on; 0 if it cannot do so,
    /// and the bytes must be read and written.
    [[nodiscard]] virtual std::uint64_t copy(const File& /*file*/, std::uint64_t /*offset*/,
                                             std::uint64_t /*nbytes*/) {
        return 0;
    }

    /// Takes zeros without storing them. False if it cannot do so, and they must be written.
    [[nodiscard]] virtual bool skip(std::uint64_t /*nbytes*/) { return false; }
};

}  // namespace onnxmap::os
