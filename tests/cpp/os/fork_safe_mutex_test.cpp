#include "os/fork_safe_mutex.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/made_once.hpp"
#include "child_process.hpp"
#include "opened.hpp"
#include "sanitized.hpp"
#include "source/read_file.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

// Under sanitizers, a fork copies the tables of their shadow memory.
constexpr int kForks = kSanitized ? 50 : 200;

// Runs work() in several threads again and again. Meanwhile this thread forks, and each child calls
// child(). Returns how many children ended with 0.
template <class Work, class Child>
int good_children(int forks, Work&& work, Child&& child) {
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop) work();
        });
    }
    int good = 0;
    for (int i = 0; i < forks && good == i; ++i) {
        good += in_child([&] {
                    ::alarm(10);
                    return child();
                }) == Ending{0, 0}
                    ? 1
                    : 0;
    }
    stop = true;
    return good;
}

}  // namespace

TEST_CASE("fork_safe_mutex: in the child it is unlocked, and its data are consistent") {
    os::ForkSafeMutex outer;
    os::ForkSafeMutex inner;
    volatile int begun = 0;
    volatile int ended = 0;
    const auto change = [&] {
        const std::lock_guard lock(outer);
        begun = begun + 1;
        const std::lock_guard another(inner);
        ended = ended + 1;
    };
    const int good = good_children(kForks, change, [&] {
        change();
        const std::lock_guard lock(outer);
        return begun == ended ? 0 : 1;
    });
    CHECK(good == kForks);
}

TEST_CASE("fork_safe_mutex: several threads may fork at once, and a child may fork") {
    os::ForkSafeMutex mutex;
    const auto lock_once = [&] { const std::lock_guard lock(mutex); };
    std::atomic<int> good = 0;
    {
        std::vector<std::jthread> forking;
        for (int i = 0; i < 3; ++i) {
            forking.emplace_back([&] {
                for (int turn = 0; turn < 20; ++turn) {
                    lock_once();
                    const Ending ending = in_child([&] {
                        lock_once();
                        return in_child([&] {
                                   lock_once();
                                   return 0;
                               }) == Ending{0, 0}
                                   ? 0
                                   : 1;
                    });
                    if (ending == Ending{0, 0}) ++good;
                }
            });
        }
    }
    CHECK(good == 60);
}

TEST_CASE("fork_safe_mutex: a thread that holds one may fork") {
    os::ForkSafeMutex mutex;
    const std::lock_guard lock(mutex);
    CHECK(in_child([&] {
              mutex.unlock();
              mutex.lock();
              return 0;
          }) == Ending{0, 0});
}

TEST_CASE("fork_safe_mutex: a file that is read can be read on in the child") {
    const TemporaryFolder folder;
    const Bytes bytes(1 << 20, 7);
    const std::string path = folder.write("f", ByteView(bytes));
    const auto open = [&] {
        auto copy =
            std::make_shared<source::ReadFile>(os::File::open(path), os::path_locator(path));
        static_cast<void>(copy->feed());
        return copy;
    };
    os::ForkSafeMutex mutex;
    std::shared_ptr<source::ReadFile> current = open();
    const auto read = [&] {
        std::shared_ptr<source::ReadFile> copy;
        {
            const std::lock_guard lock(mutex);
            copy = current;
        }
        const ByteView all = copy->resident(0, bytes.size());
        return all.front() == 7 && all.back() == 7 ? 0 : 1;
    };
    const auto read_anew = [&] {
        static_cast<void>(read());
        auto fresh = open();
        const std::lock_guard lock(mutex);
        current = std::move(fresh);
    };
    CHECK(good_children(kForks / 2, read_anew, read) == kForks / 2);
}

TEST_CASE("made_once: the child makes a value again if a lost thread was making it") {
    static constinit std::atomic<int*> place = nullptr;
    std::atomic<bool> making = false;
    std::atomic<bool> forked = false;
    std::jthread maker([&] {
        static_cast<void>(made_once(place, [&] {
            making = true;
            while (!forked) std::this_thread::yield();
            return std::make_unique<int>(1);
        }));
    });
    while (!making) std::this_thread::yield();
    const Ending ending = in_child(
        [] { return made_once(place, [] { return std::make_unique<int>(2); }) == 2 ? 0 : 1; });
    forked = true;
    maker.join();
    CHECK(ending == Ending{0, 0});
    CHECK(made_once(place, [] { return std::make_unique<int>(3); }) == 1);
}

}  // namespace onnxmap::test
