#include "fuzz/work_limit.hpp"

#include <cstdio>
#include <cstdlib>

// Of compiler-rt. Source: InstrProfiling.h of LLVM.
extern "C" char* __llvm_profile_begin_counters();
extern "C" char* __llvm_profile_end_counters();

namespace onnxmap::fuzz {

namespace {

// Regions per byte. A target reads every field of a message by name in several ways, and each way
// is a walk over the message. A model whose graph comes in empty pieces of two bytes needs about
// 2 900 regions for each byte, the most that was found. The limit is twice that: no linear code
// reaches it, and quadratic code reaches it with some ten kilobytes.
constexpr std::uint64_t kPerByte = 6'000;
// Regions for any input. Tables that are made on first use need about 100 000.
constexpr std::uint64_t kForAny = 300'000;

// ONNXMAP_SHOW_WORK=1 prints the work of each input, to choose the numbers above.
const bool kShow = std::getenv("ONNXMAP_SHOW_WORK") != nullptr;

[[clang::no_sanitize("address", "undefined", "coverage")]] std::uint64_t work_so_far() noexcept {
    const auto* counter = reinterpret_cast<const std::uint64_t*>(__llvm_profile_begin_counters());
    const auto* const end = reinterpret_cast<const std::uint64_t*>(__llvm_profile_end_counters());
    std::uint64_t sum = 0;
    for (; counter < end; ++counter) sum += *counter;
    return sum;
}

}  // namespace

WorkLimit::WorkLimit(std::size_t input_nbytes) noexcept
    : input_nbytes_(input_nbytes), before_(work_so_far()) {}

WorkLimit::~WorkLimit() {
    const std::uint64_t work = work_so_far() - before_;
    const std::uint64_t allowed = kForAny + kPerByte * input_nbytes_;
    if (kShow) {
        std::fprintf(stderr, "work: %llu regions for %zu bytes\n",
                     static_cast<unsigned long long>(work), input_nbytes_);
    }
    if (work <= allowed) return;
    std::fprintf(stderr, "superlinear: %llu regions ran for %zu bytes, %llu are allowed\n",
                 static_cast<unsigned long long>(work), input_nbytes_,
                 static_cast<unsigned long long>(allowed));
    std::abort();
}

}  // namespace onnxmap::fuzz
