// Appends that happen at the same time, and files that others have locked.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/write_calls.hpp"
#include "plain_os.hpp"
#include "save/append_bytes.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{30};
constexpr milliseconds kLong{60'000};

os::FileIdentity state_of(const std::string& path) { return os::File::open(path).identity(); }

std::string code_of_append(const std::string& path, const os::FileIdentity& known,
                           std::string_view text, milliseconds patience = kLong) {
    return code_of(
        [&] { return save::append_bytes(path, known, as_bytes(text), {.patience = patience}); });
}

// Another open file, as another process has it.
class OtherLock {
  public:
    explicit OtherLock(const std::string& path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        REQUIRE(os::kSystemWriteCalls.lock(file_.number()) == 0);
    }

  private:
    os::Descriptor file_;
};

// While an object of this class exists, `first` runs before the first bytes are written.
class BeforeWriting {
  public:
    explicit BeforeWriting(std::function<void()> first) {
        act = std::move(first);
        calls.write_at = [](int file, const void* bytes, std::size_t nbytes, off_t offset) {
            if (act) std::exchange(act, nullptr)();
            return os::kSystemWriteCalls.write_at(file, bytes, nbytes, offset);
        };
        os::write_calls = &calls;
    }
    BeforeWriting(const BeforeWriting&) = delete;
    BeforeWriting& operator=(const BeforeWriting&) = delete;
    ~BeforeWriting() { os::write_calls = &os::kSystemWriteCalls; }

  private:
    static inline std::function<void()> act;
    static inline os::WriteCalls calls = os::kSystemWriteCalls;
};

}  // namespace

TEST_CASE("append_locks: another thread that appends between check and write waits") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = state_of(path);
    std::string impatient;
    std::string patient;
    {
        std::jthread other;
        const BeforeWriting before([&] {
            std::jthread([&] { impatient = code_of_append(path, known, "y", kShort); }).join();
            other = std::jthread([&] { patient = code_of_append(path, known, "z"); });
        });
        CHECK(code_of_append(path, known, "x") == "accepted");
        other.join();
    }
    CHECK(impatient == "save.locked");
    CHECK(patient == "file.changed");
    CHECK(text_of(path) == "modelx");
}

TEST_CASE("append_locks: of many threads that examined one state, one appends") {
    for (const bool has_locks : {true, false}) {
        const TemporaryFolder folder;
        const std::string path = folder.write("m", "model");
        os::WriteCalls calls = os::kSystemWriteCalls;
        if (!has_locks) {
            calls.lock = [](int) {
                errno = ENOLCK;
                return -1;
            };
        }
        os::write_calls = &calls;
        for (std::size_t round = 0; round < 20; ++round) {
            const os::FileIdentity known = state_of(path);
            std::vector<std::string> codes(4);
            {
                std::vector<std::jthread> threads;
                for (std::string& code : codes) {
                    threads.emplace_back([&] { code = code_of_append(path, known, "x"); });
                }
            }
            CHECK(std::count(codes.begin(), codes.end(), "accepted") == 1);
            CHECK(std::count(codes.begin(), codes.end(), "file.changed") == 3);
        }
        os::write_calls = &os::kSystemWriteCalls;
        CHECK(text_of(path) == "model" + std::string(20, 'x'));
    }
}

TEST_CASE("append_locks: a state that an own append has made is another one") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = state_of(path);
    CHECK(code_of_append(path, known, "x") == "accepted");
    CHECK(code_of_append(path, known, "y") == "file.changed");
    CHECK(text_of(path) == "modelx");
}

TEST_CASE("append_locks: a file or a folder that another program has locked") {
    ONNXMAP_NEEDS_LINUX("POSIX has no locks of open files");
    for (const bool is_folder : {false, true}) {
        const TemporaryFolder folder;
        const std::string path = folder.write("m", "model");
        const std::string locked = is_folder ? folder.path().string() : path;
        const os::FileIdentity known = state_of(path);
        {
            const OtherLock lock(locked);
            const auto error = error_of([&] {
                return save::append_bytes(path, known, as_bytes("x"), {.patience = kShort});
            });
            REQUIRE(error);
            CHECK(error->code == "save.locked");
            CHECK(error->file == path);
            // What look() throws ends the wait.
            int looks = 0;
            const auto look = [&] {
                if (++looks == 3) throw std::domain_error("interrupted");
            };
            CHECK_THROWS_AS(
                static_cast<void>(save::append_bytes(path, known, as_bytes("x"), {.look = look})),
                std::domain_error);
        }
        CHECK(text_of(path) == "model");
        // The lock is released after each append, and after each failure.
        CHECK(code_of_append(path, known, "x", kShort) == "accepted");
        CHECK(code_of_append(path, known, "x", kShort) == "file.changed");
        { const OtherLock lock(locked); }

        std::optional<OtherLock> lock(locked);
        const auto look = [&] { lock.reset(); };
        CHECK(save::append_bytes(path, state_of(path), as_bytes("y"), {.look = look}).size == 7);
        CHECK(text_of(path) == "modelxy");
    }
}

TEST_CASE("append_locks: file systems without locks") {
    for (const int number : {ENOLCK, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP}) {
        CAPTURE(number);
        const TemporaryFolder folder;
        const std::string path = folder.write("m", "model");
        const WatchedWrites watched({.never = {{Write::lock, number}, {Write::unlock, number}}});
        CHECK(code_of_append(path, state_of(path), "x") == "accepted");
        CHECK(text_of(path) == "modelx");
    }
}

}  // namespace onnxmap::test
