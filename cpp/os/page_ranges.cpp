#include "os/page_ranges.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace onnxmap::os {

namespace {

std::atomic<std::uint64_t> page_size_in_use = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

}  // namespace

std::uint64_t page_size() noexcept { return page_size_in_use.load(std::memory_order_relaxed); }

void use_page_size(std::uint64_t nbytes) noexcept { page_size_in_use.store(nbytes); }

Pages pages_around(std::uint64_t size, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t page = page_size();
    const std::uint64_t over = end % page;
    // Compares differences, since the sum could exceed 64 bits.
    if (over != 0) end = size - end < page - over ? size : end + page - over;
    return {begin - begin % page, end};
}

Pages pages_within(std::uint64_t size, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t page = page_size();
    if (end != size) end -= end % page;
    if (begin % page != 0) {
        const std::uint64_t step = page - begin % page;
        begin = end < begin || end - begin < step ? end : begin + step;
    }
    return {std::min(begin, end), end};
}

}  // namespace onnxmap::os
