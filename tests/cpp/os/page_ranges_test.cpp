// Ranges of pages, for each page size that systems have.
#include "os/page_ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

namespace onnxmap::test {

namespace {

class PlantedPageSize {
  public:
    explicit PlantedPageSize(std::uint64_t nbytes) { os::use_page_size(nbytes); }
    PlantedPageSize(const PlantedPageSize&) = delete;
    PlantedPageSize& operator=(const PlantedPageSize&) = delete;
    ~PlantedPageSize() { os::use_page_size(before_); }

  private:
    std::uint64_t before_ = os::page_size();
};

// The pages of a file for which `belongs` is true.
template <class Belongs>
os::Pages pages_where(std::uint64_t size, std::uint64_t page, Belongs&& belongs) {
    os::Pages found{size, size};
    for (std::uint64_t begin = 0; begin < size; begin += page) {
        const std::uint64_t end = std::min(begin + page, size);
        if (belongs(begin, end)) found = {std::min(found.begin, begin), end};
    }
    return found;
}

bool same(os::Pages found, os::Pages expected) {
    if (expected.nbytes() == 0) return found.nbytes() == 0;
    return found.begin == expected.begin && found.end == expected.end;
}

}  // namespace

TEST_CASE("page_ranges: those around bytes and those within bytes, for each page size") {
    for (const std::uint64_t page : {4U << 10, 16U << 10, 64U << 10}) {
        const PlantedPageSize planted(page);
        REQUIRE(os::page_size() == page);
        for (const std::uint64_t size : {page - 1, page, page + 1, 3 * page, 3 * page + 5}) {
            for (const std::uint64_t first : {std::uint64_t{0}, page, 2 * page, size}) {
                for (const std::uint64_t last : {page, 2 * page, 3 * page, size}) {
                    for (const std::uint64_t step : {0U, 1U, 4096U}) {
                        const std::uint64_t begin = std::min(first + step, size);
                        const std::uint64_t end = std::min(last - std::min(last, step), size);
                        if (begin >= end) continue;
                        CAPTURE(page);
                        CAPTURE(size);
                        CAPTURE(begin);
                        CAPTURE(end);
                        CHECK(same(os::pages_around(size, begin, end),
                                   pages_where(size, page, [&](auto from, auto to) {
                                       return from < end && begin < to;
                                   })));
                        CHECK(same(os::pages_within(size, begin, end),
                                   pages_where(size, page, [&](auto from, auto to) {
                                       return begin <= from && to <= end;
                                   })));
                    }
                }
            }
        }
    }
}

TEST_CASE("page_ranges: those around the last bytes of 64 bits") {
    const PlantedPageSize planted(64 << 10);
    CHECK(same(os::pages_around(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX),
               {UINT64_MAX - 0xffff, UINT64_MAX}));
}

}  // namespace onnxmap::test
