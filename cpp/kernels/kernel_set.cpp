#include "kernels/kernel_set.hpp"

#include <array>
#include <atomic>

namespace onnxmap::kernels {

namespace {

// The plainest first. A processor that supports one supports all before it.
constexpr std::array kSets = {
    &kScalar,
#if defined(__x86_64__)
    &kAvx2,
#elif defined(__aarch64__)
    &kNeon,
#endif
};

std::atomic<const KernelSet*> chosen = nullptr;

}  // namespace

const KernelSet& kernels() noexcept {
    const KernelSet* set = chosen.load(std::memory_order_acquire);
    if (set == nullptr) {
        set = supported_sets().back();
        chosen.store(set, std::memory_order_release);
    }
    return *set;
}

std::span<const KernelSet* const> supported_sets() noexcept {
    std::size_t count = kSets.size();
    while (!kSets[count - 1]->supported()) --count;
    return std::span(kSets).first(count);
}

bool use_set(std::string_view name) noexcept {
    for (const KernelSet* set : supported_sets()) {
        if (set->name != name) continue;
        chosen.store(set, std::memory_order_release);
        return true;
    }
    return false;
}

void pack(std::uint32_t bits, const std::uint8_t* codes, std::uint64_t count, std::uint8_t* to) {
    const std::uint32_t mask = (1U << bits) - 1;
    std::uint32_t pending = 0;
    std::uint32_t pending_bits = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        pending |= (codes[i] & mask) << pending_bits;
        pending_bits += bits;
        if (pending_bits >= 8) {
            *to++ = static_cast<std::uint8_t>(pending);
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    if (pending_bits > 0) *to = static_cast<std::uint8_t>(pending);
}

}  // namespace onnxmap::kernels
