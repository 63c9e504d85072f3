#include "os/zeroed_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "os/lost_pages.hpp"
#include "os/mapping.hpp"

namespace onnxmap::os {

namespace {

using Cover = LostPages::Cover;

std::atomic_flag locked;
LostPages* first_covered = nullptr;

const std::uintptr_t page_nbytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));

std::uint8_t* page_of(std::uintptr_t address) noexcept {
    return reinterpret_cast<std::uint8_t*>(address & ~(page_nbytes - 1));
}

std::size_t bytes_between(const std::uint8_t* begin, const std::uint8_t* end) noexcept {
    return static_cast<std::size_t>(end - begin);
}

bool map_zeros(const LostPages& lost, std::uint8_t* begin, std::uint8_t* end) noexcept {
    const int protection = lost.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    return ::mmap(begin, bytes_between(begin, end), protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | kMapUnreserved, -1, 0) != MAP_FAILED;
}

// Counts the cover before mapping it, so that a guard that is made meanwhile knows of it.
bool cover_range(LostPages& lost, Cover& cover, std::uint8_t* begin, std::uint8_t* end) noexcept {
    const bool is_new = cover.begin == nullptr;
    const bool is_first = is_new || begin < cover.begin;
    void* kept = cover.kept;
    if (is_first && !keep_page(begin, page_nbytes, kept)) return false;
    if (is_new && lost.covered.fetch_add(1) == 0) {
        lost.next_covered = first_covered;
        first_covered = &lost;
    }
    lost.times.fetch_add(1);
    const bool mapped = map_zeros(lost, begin, end);
    if (is_first && !(is_new && mapped)) forget_page(mapped ? cover.kept : kept, page_nbytes);
    if (!mapped) return false;  // a new cover stays counted: every guard reports lost bytes
    cover.kept = kept;
    cover.begin = is_new ? begin : std::min(cover.begin, begin);
    cover.end = is_new ? end : std::max(cover.end, end);
    return true;
}

bool cover_page(GuardedRegion region, std::uintptr_t fault) noexcept {
    LostPages& lost = *region.lost;
    std::uint8_t* const page = page_of(fault);
    auto* limit =
        page_of(reinterpret_cast<std::uintptr_t>(region.data + region.size) + page_nbytes - 1);
    Cover* before = nullptr;  // the cover that ends here, or else the last one below
    Cover* free = nullptr;
    for (Cover& cover : lost.covers) {
        if (cover.begin == nullptr) {
            free = &cover;
        } else if (cover.begin <= page && page < cover.end) {
            return true;  // another thread was here first
        } else if (cover.begin > page) {
            limit = std::min(limit, cover.begin);
        } else if (before == nullptr || before->end < cover.end) {
            before = &cover;
        }
    }
    std::uint8_t* end = page + page_nbytes;
    if (end < limit && is_lost(limit - page_nbytes, page_nbytes)) end = limit;
    for (Cover& cover : lost.covers) {
        if (cover.begin != nullptr && cover.begin == end) {
            return cover_range(lost, cover, page, end);
        }
    }
    if (before != nullptr && before->end == page) return cover_range(lost, *before, page, end);
    if (free != nullptr) return cover_range(lost, *free, page, end);
    // A bad disk may have many bad places. The good pages between two of them are covered, too, and
    // come back with them.
    if (before != nullptr) return cover_range(lost, *before, before->end, end);
    return false;
}

// If this fails, the zeros stay, and every guard reports it.
void uncover(LostPages& lost) noexcept {
    for (Cover& cover : lost.covers) {
        if (cover.begin == nullptr) continue;
        if (!os::put_back(cover.kept, cover.begin, bytes_between(cover.begin, cover.end))) continue;
        forget_page(cover.kept, page_nbytes);
        cover = Cover();
        lost.covered.fetch_sub(1);
    }
    for (LostPages** link = &first_covered; *link != nullptr; link = &(*link)->next_covered) {
        if (*link != &lost) continue;
        *link = lost.next_covered;
        break;
    }
}

}  // namespace

void lock_zeroed_pages() noexcept {
    while (locked.test_and_set(std::memory_order_acquire)) {}
}

void unlock_zeroed_pages() noexcept { locked.clear(std::memory_order_release); }

void restore_all_pages() noexcept {
    for (LostPages* lost = first_covered; lost != nullptr;) {
        LostPages* const next = lost->next_covered;
        lost->guards = 0;
        uncover(*lost);
        lost = next;
    }
    unlock_zeroed_pages();
}

bool zero_lost_pages(GuardedRegion region, std::uintptr_t fault, bool& fell) noexcept {
    lock_zeroed_pages();
    const bool covered = cover_page(region, fault);
    if (covered && !fell) {
        fell = true;
        ++region.lost->guards;
    }
    unlock_zeroed_pages();
    return covered;
}

void restore_lost_pages(LostPages& lost) noexcept {
    lock_zeroed_pages();
    if (lost.guards > 0 && --lost.guards == 0) uncover(lost);
    unlock_zeroed_pages();
}

}  // namespace onnxmap::os
