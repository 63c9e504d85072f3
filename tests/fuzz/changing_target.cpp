// A model whose bytes change while it is loaded and read, as a mapped file or a caller's buffer
// can.
//
// Time is counted in comparisons of the core. clang calls libFuzzer at each, and this target
// listens. Therefore a byte changes at the same place in the code on every run, also between two
// reads of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"

// For code that runs at every comparison: it has no comparisons that clang reports, is not counted
// as work, and may run while memory is being set up.
#define UNNOTICED \
    [[clang::no_sanitize("coverage", "address", "undefined"), gnu::no_profile_instrument_function]]

namespace onnxmap::fuzz {

namespace {

// The changes stand behind the model, and their number is in the last byte. Each change has two
// bytes for its time after the one before, two for its place, and one for the bits to flip.
constexpr std::size_t kChangeNbytes = 5;
constexpr std::size_t kMostChanges = 16;

std::size_t changes_nbytes(ByteView input) {
    if (input.empty()) return 0;
    const std::size_t wanted = input.back() % (kMostChanges + 1) * kChangeNbytes + 1;
    return wanted <= input.size() ? wanted : 1;
}

/// Makes the changes when they are due. The functions that run at every comparison have none that
/// clang reports: no bounds check, no sanitizer, no function of a library.
class Clock {
  public:
    void start(ByteView changes, std::span<std::uint8_t> target) {
        std::uint64_t at = 0;
        stop();
        while (changes.size() >= kChangeNbytes && !target.empty()) {
            at += changes[0] + 256U * changes[1];
            const std::size_t offset = (changes[2] + 256U * changes[3]) % target.size();
            changes_[count_++] = {at, target.data() + offset, changes[4]};
            changes = changes.subspan(kChangeNbytes);
        }
        changes_[count_].at = UINT64_MAX;
        next_ = changes_;
        now_ = 0;
    }
    void stop() noexcept {
        next_ = &never_;
        count_ = 0;
    }

    UNNOTICED void tick() noexcept {
        ++now_;
        for (; now_ >= next_->at; ++next_) *next_->place ^= next_->bits;
    }

  private:
    struct Due {
        std::uint64_t at;
        std::uint8_t* place;
        std::uint8_t bits;
    };

    Due never_ = {UINT64_MAX, nullptr, 0};
    Due changes_[kMostChanges + 1] = {};
    std::size_t count_ = 0;
    Due* next_ = &never_;
    std::uint64_t now_ = 0;
};

constinit Clock clock;

}  // namespace

namespace {

// A few changes at any time, mostly of one bit, often near the end of the model.
std::vector<std::uint8_t> make_changes(ByteView model, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> changes;
    const unsigned count = 1 + random() % 4;
    for (unsigned i = 0; i < count; ++i) {
        const unsigned at = random() % (1U << (4 + random() % 13));
        const auto size = static_cast<unsigned>(model.size());
        const unsigned from_end = random() % std::min(size, random() % 4 == 0 ? 8U : size);
        const unsigned offset = size - 1 - from_end;
        const unsigned bits =
            static_cast<unsigned>(random() % 4 == 0 ? random() : 1U << random() % 8);
        for (const unsigned byte : {at, at >> 8, offset, offset >> 8, bits}) {
            changes.push_back(static_cast<std::uint8_t>(byte));
        }
    }
    changes.push_back(static_cast<std::uint8_t>(count));
    return changes;
}

}  // namespace

MessagePart message_of(ByteView input) {
    return {input.first(input.size() - changes_nbytes(input)), &onnx::message<"ModelProto">,
            make_changes};
}

}  // namespace onnxmap::fuzz

// The linker gives us the calls that clang has put before every comparison (--wrap); they go on to
// libFuzzer, which must see the caller's return address: hence the tail calls.
#define LISTEN(name, type)                                                          \
    extern "C" void __real___sanitizer_cov_trace_##name(type, type);                \
    extern "C" UNNOTICED void __wrap___sanitizer_cov_trace_##name(type a, type b) { \
        onnxmap::fuzz::clock.tick();                                                \
        [[clang::musttail]] return __real___sanitizer_cov_trace_##name(a, b);       \
    }
LISTEN(cmp1, std::uint8_t)
LISTEN(cmp2, std::uint16_t)
LISTEN(cmp4, std::uint32_t)
LISTEN(cmp8, std::uint64_t)
LISTEN(const_cmp1, std::uint8_t)
LISTEN(const_cmp2, std::uint16_t)
LISTEN(const_cmp4, std::uint32_t)
LISTEN(const_cmp8, std::uint64_t)
#undef LISTEN
#undef UNNOTICED

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView input(data, size);
    const fuzz::WorkLimit limit(size);
    const ByteView bytes = fuzz::message_of(input).bytes;
    auto source = std::make_shared<test::MemorySource>(bytes);
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.scan_packed = fuzz::hash_of(input) % 4 != 1;
    fuzz::clock.start(input.subspan(bytes.size()), {source->writable(), bytes.size()});
    // Held here until no byte changes any more.
    fuzz::load_and_read(source, options, true, fuzz::InputBytes::changing);
    fuzz::clock.stop();
    return 0;
}
