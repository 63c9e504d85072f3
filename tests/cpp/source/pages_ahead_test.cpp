// The pages that a walk over a file asks for, tested with a fake page cache; see
// fake_page_cache.hpp.
#include "source/pages_ahead.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cold_file.hpp"
#include "os/file.hpp"
#include "plain_os.hpp"
#include "source/window.hpp"

namespace onnxmap::test {

namespace {

using What = FakePageCache::What;
using Request = FakePageCache::Request;
using Requests = std::vector<Request>;

constexpr std::uint64_t kStep = 40 << 10;  // a small jump

// Walks with jumps of kStep, and reads nothing.
void jump(source::PagesAhead& ahead, const os::File& file, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; at += kStep) ahead.walk_to(file, at, kStep);
}

}  // namespace

TEST_CASE("pages_ahead: pages between small jumps are requested before the walk gets there") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile cold(8 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    for (std::uint64_t at = 0; at < 4 << 20; at += kStep) {
        ahead.walk_to(file, at, kStep);
        const Requests asked = cold.cache.joined(What::asked);
        REQUIRE(asked.size() == 1);  // one span without a gap
        CHECK(asked.front().begin == 0);
        CHECK(asked.front().end > at + kStep);
        CHECK(cold.cache.held(0, at) == (at + page() - 1) / page() * page());
    }
}

TEST_CASE("pages_ahead: distant pages are not requested") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile cold(32 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    for (std::uint64_t at = 0; at < cold.bytes.size(); at += 1 << 20) {
        ahead.walk_to(file, at, 1 << 20);
    }
    CHECK(cold.cache.requests().empty());
    // The requests end with the small jumps. When small jumps begin again, so do small requests.
    jump(ahead, file, 0, 4 << 20);
    const std::uint64_t end = cold.cache.joined(What::asked).back().end;
    CHECK(end <= (4 << 20) + source::PagesAhead::kMost);
    const std::size_t count = cold.cache.requests().size();
    for (std::uint64_t at = 12 << 20; at <= 24 << 20; at += 1 << 20) {
        ahead.walk_to(file, at, 1 << 20);
    }
    CHECK(cold.cache.requests().size() == count);
    const std::uint64_t at = (24 << 20) + kStep;
    ahead.walk_to(file, at, kStep);
    const os::Pages pages =
        os::pages_around(cold.bytes.size(), at, at + source::PagesAhead::kLeast);
    CHECK(cold.cache.joined(What::asked).back() == Request{What::asked, pages.begin, pages.end});
}

TEST_CASE("pages_ahead: on a straight walk, the system reads ahead by itself") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile cold(4 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    for (std::uint64_t at = 0; at < cold.bytes.size(); at += 4096) ahead.walk_to(file, at, 0);
    CHECK(cold.cache.requests().empty());
}

TEST_CASE("pages_ahead: pages in memory are not requested") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    ColdFile cold(8 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    cold.bring(0, 1);  // it checks here
    jump(ahead, file, 0, source::PagesAhead::kLookEvery);
    CHECK(cold.cache.requests().empty());
    // Behind these pages it checks again.
    jump(ahead, file, source::PagesAhead::kLookEvery, 4 << 20);
    const Requests asked = cold.cache.joined(What::asked);
    REQUIRE(asked.size() == 1);
    CHECK(asked.front().begin <= source::PagesAhead::kLookEvery + kStep);
    CHECK(asked.front().end >= 4 << 20);
}

TEST_CASE("pages_ahead: nothing is requested behind the end, or twice") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile cold(1 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    jump(ahead, file, 0, 1 << 20);
    CHECK(cold.cache.joined(What::asked) == Requests{{What::asked, 0, 1 << 20}});
    jump(ahead, file, 0, 1 << 20);
    CHECK(cold.cache.joined(What::asked) == Requests{{What::asked, 0, 1 << 20}});
}

TEST_CASE("pages_ahead: the next pages are requested before the walk gets there") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile cold(8 << 20, source::IoMode::mmap);
    const os::File file = os::File::open(cold.path);
    source::PagesAhead ahead;
    std::size_t count = 0;
    for (std::uint64_t at = 0; at < cold.bytes.size(); at += kStep) {
        ahead.walk_to(file, at, kStep);
        const Requests all = cold.cache.requests();
        for (; count < all.size(); ++count) CHECK((count == 0 || all[count].begin > at));
    }
    CHECK(cold.held() == cold.bytes.size());
}

TEST_CASE("pages_ahead: both feeds of a file request pages") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : {source::IoMode::mmap, source::IoMode::read}) {
        const ColdFile cold(8 << 20, mode);
        const auto feed = cold.source->feed();
        for (std::uint64_t at = 0; at < 4 << 20; at += kStep) {
            const ByteView view = feed->at(at, 16);
            REQUIRE(view.front() == cold.bytes[at]);
        }
        const Requests asked = cold.cache.joined(What::asked);
        REQUIRE(asked.size() == 1);
        CHECK(asked.front().begin <= kStep);
        CHECK(asked.front().end >= 4 << 20);
    }
}

}  // namespace onnxmap::test
