// The addresses of a mapping whose pages may be lost during a read. A guard protects them.
#pragma once

#include <cstdint>

#include "os/lost_pages.hpp"

namespace onnxmap::os {

struct GuardedRegion {
    const std::uint8_t* data = nullptr;
    std::uint64_t size = 0;
    LostPages* lost = nullptr;  // of this mapping; lives as long as the mapping

    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(data);
        return address >= begin && address - begin < size;
    }
};

}  // namespace onnxmap::os
