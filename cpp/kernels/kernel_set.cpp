#include "kernels/kernel_set.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/made_once.hpp"
#include "kernels/avx2.hpp"
#include "kernels/scalar.hpp"

namespace onnxmap::kernels {

namespace {

// The plainest first: the last one that is supported is used.
constexpr std::array kSets = {
    &kScalar,
#if defined(__x86_64__)
    &kAvx2,
#endif
};

std::atomic<const KernelSet*> chosen = nullptr;
constinit std::atomic<std::vector<const KernelSet*>*> supported_here = nullptr;

const KernelSet& best() noexcept {
    const KernelSet* set = &kScalar;
    for (const KernelSet* candidate : kSets) {
        if (candidate->supported()) set = candidate;
    }
    return *set;
}

}  // namespace

const KernelSet& kernels() noexcept {
    const KernelSet* set = chosen.load(std::memory_order_acquire);
    if (set == nullptr) {
        set = &best();
        chosen.store(set, std::memory_order_release);
    }
    return *set;
}

std::span<const KernelSet* const> supported_sets() {
    return made_once(supported_here, [] {
        auto found = std::make_unique<std::vector<const KernelSet*>>();
        for (const KernelSet* set : kSets) {
            if (set->supported()) found->push_back(set);
        }
        return found;
    });
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
