#include "os/descriptor_pool.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "caught.hpp"
#include "child_process.hpp"
#include "opened.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

std::shared_ptr<const os::Descriptor> open_null() {
    return std::make_shared<const os::Descriptor>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

// UndefinedBehaviorSanitizer checks objects through a pipe. If it gets no pipe, it reports good
// objects as bad.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitizerNeedsPipes = true;
#else
constexpr bool kSanitizerNeedsPipes = false;
#endif

// An opener that fails a given number of times with a given errno.
struct FailingOpener {
    int failures;
    int number;
    int calls = 0;

    int operator()() {
        if (calls++ < failures) {
            errno = number;
            return -1;
        }
        return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
};

}  // namespace

TEST_CASE("descriptor_pool: at most 32 stay open, whatever holds them") {
    os::close_held();
    const std::size_t before = open_descriptors();
    {
        std::array<os::PooledDescriptor, 100> held;
        for (std::size_t i = 0; i < held.size(); ++i) {
            held[i].keep(open_null());
            CHECK(open_descriptors() == before + std::min(i + 1, os::kMostHeldOpen));
        }
        CHECK(os::kMostHeldOpen == 32);
        // Files and folders share the pool.
        const TemporaryFolder folder;
        const os::PooledFile file(os::File::open(folder.write("f", "f")),
                                  os::path_locator(folder / "f"));
        const os::Folder opened(folder.path().string());
        CHECK(open_descriptors() == before + os::kMostHeldOpen);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("descriptor_pool: the one used longest ago is closed") {
    os::close_held();
    std::vector<std::unique_ptr<os::PooledDescriptor>> held;
    for (int i = 0; i < 80; ++i) held.push_back(std::make_unique<os::PooledDescriptor>());
    std::deque<std::size_t> newest_first;  // the ones that must be open
    const auto use = [&](std::size_t i) {
        std::erase(newest_first, i);
        newest_first.push_front(i);
        if (newest_first.size() > os::kMostHeldOpen) newest_first.pop_back();
    };
    std::mt19937_64 random(41);
    for (int step = 0; step < 5'000; ++step) {
        const std::size_t i = random() % held.size();
        const bool is_held = std::ranges::find(newest_first, i) != newest_first.end();
        switch (random() % 16) {
            case 0:
                held[i] = std::make_unique<os::PooledDescriptor>();
                std::erase(newest_first, i);
                break;
            case 1:  // it may be in the pool already, or not
                held[i]->keep(open_null());
                use(i);
                break;
            default: {
                const bool found = held[i]->find() != nullptr;
                if (found != is_held) FAIL("step " << step);
                if (!found) held[i]->keep(open_null());
                use(i);
            }
        }
    }
}

TEST_CASE("descriptor_pool: a descriptor in use stays open until it is let go") {
    os::close_held();
    os::PooledDescriptor held;
    auto used = open_null();
    const int number = used->number();
    held.keep(used);
    SUBCASE("all are closed") { os::close_held(); }
    SUBCASE("it is the oldest") {
        std::array<os::PooledDescriptor, os::kMostHeldOpen> newer;
        for (os::PooledDescriptor& one : newer) one.keep(open_null());
    }
    SUBCASE("another takes its place") {
        held.keep(open_null());
        CHECK(held.find() != used);
        os::close_held();
    }
    CHECK(held.find() == nullptr);
    CHECK(is_open(number));
    used = nullptr;
    CHECK_FALSE(is_open(number));
    // It can be kept again.
    const auto again = open_null();
    held.keep(again);
    CHECK(held.find() == again);
}

TEST_CASE("descriptor_pool: a descriptor of ours is closed if the process has none left") {
    for (const int number : {EMFILE, ENFILE}) {
        CAPTURE(number);
        os::PooledDescriptor held;
        held.keep(open_null());
        FailingOpener once{1, number};
        CHECK(os::open_descriptor(once));
        CHECK(once.calls == 2);
        CHECK(held.find() == nullptr);
        FailingOpener always{9, number};
        CHECK_FALSE(os::open_descriptor(always));
        CHECK(errno == number);
        CHECK(always.calls == 2);
    }
    os::PooledDescriptor held;
    held.keep(open_null());
    FailingOpener missing{1, ENOENT};
    CHECK_FALSE(os::open_descriptor(missing));
    CHECK(errno == ENOENT);
    CHECK(missing.calls == 1);
    CHECK(held.find() != nullptr);
}

TEST_CASE("descriptor_pool: files still open after the process has used up its descriptors" *
          doctest::skip(kSanitizerNeedsPipes)) {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "weights");
    const Ending ending = in_child([&] {
        const auto first = open_source(path, source::IoMode::mmap);
        const auto second = open_source(path, source::IoMode::mmap);
        const rlimit few{64, 64};
        if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
        while (::dup(0) >= 0) {}
        // The two held descriptors are closed for one new one. Then no other can be closed.
        const os::File third = os::File::open(path);
        const os::File fourth = os::File::open(path);
        if (errno_of([&] { return os::File::open(path); }) != EMFILE) return 2;
        return as_text(first->bytes()) == "weights" ? 0 : 3;
    });
    CHECK(ending == Ending{0, 0});
}

TEST_CASE("descriptor_pool: many threads keep, find, close and forget descriptors") {
    os::close_held();
    const std::size_t before = open_descriptors();
    {
        std::array<os::PooledDescriptor, 48> shared;
        std::atomic<int> closed_in_use = 0;
        std::vector<std::thread> threads;
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            threads.emplace_back([&, seed] {
                std::mt19937_64 random(seed);
                for (int i = 0; i < 2'000; ++i) {
                    os::PooledDescriptor own;
                    os::PooledDescriptor& one =
                        random() % 8 == 0 ? own : shared[random() % shared.size()];
                    auto found = std::static_pointer_cast<const os::Descriptor>(one.find());
                    if (!found) {
                        found = open_null();
                        one.keep(found);
                    }
                    if (random() % 200 == 0) os::close_held();
                    if (!is_open(found->number())) ++closed_in_use;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK(closed_in_use == 0);
        CHECK(open_descriptors() <= before + os::kMostHeldOpen);
    }
    CHECK(open_descriptors() == before);
}

}  // namespace onnxmap::test
