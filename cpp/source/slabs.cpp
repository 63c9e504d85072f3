#include "source/slabs.hpp"

#include <algorithm>

namespace onnxmap::source {

std::uint64_t Slabs::taken(std::uint64_t nbytes) noexcept {
    if (nbytes >= OwnedBytes::kLeastForHugePages) return 0;
    return (nbytes + OwnedBytes::kAlignment - 1) / OwnedBytes::kAlignment * OwnedBytes::kAlignment;
}

ArrayMemory Slabs::allocate(std::uint64_t nbytes) {
    const std::uint64_t space = taken(nbytes);
    if (space == 0) {
        auto memory = std::make_shared<OwnedBytes>(nbytes);
        const auto bytes = memory->writable();
        return {std::move(memory), bytes};
    }
    if (!slab_ || slab_->size() - used_ < space) {
        slab_ = std::make_shared<OwnedBytes>(std::clamp(left_, space, kMost));
        used_ = 0;
    }
    const auto bytes = slab_->writable().subspan(used_, nbytes);
    used_ += space;
    left_ -= std::min(left_, space);
    return {slab_, bytes};
}

}  // namespace onnxmap::source
