#include "save/append_bytes.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>

#include "caught.hpp"
#include "child_process.hpp"
#include "os/file.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

os::FileIdentity identity_of(const std::string& path) { return os::File::open(path).identity(); }

os::FileIdentity appended(const std::string& path, const os::FileIdentity& known,
                          std::string_view text) {
    return save::append_bytes(path, known, as_bytes(text));
}

}  // namespace

TEST_CASE("append_bytes: the file grows by one write and stays the same file") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    const os::FileIdentity before = identity_of(path);
    for (int round = 0; round < 2; ++round) {
        const WatchedWrites watched;
        const os::FileIdentity known = identity_of(path);
        const os::FileIdentity now = appended(path, known, " and more");
        CHECK(now == identity_of(path));
        CHECK(now.same_file(before));
        CHECK(now.size == known.size + 9);
        CHECK(watched.count(Write::write_at) == 1);
    }
    CHECK(text_of(path) == "model and more and more");
    const os::FileIdentity now = identity_of(path);
    CHECK(appended(path, now, "") == now);
    CHECK(identity_of(path) == now);
}

TEST_CASE("append_bytes: links of both kinds are refused") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = identity_of(path);
    fs::create_symlink("m", folder / "link");
    fs::create_symlink("circle", folder / "circle");
    const auto code = [&](const char* name) {
        return code_of([&] { return appended(folder / name, known, "x"); });
    };
    CHECK(code("link") == "save.link");
    CHECK(code("circle") == "save.link");
    fs::create_hard_link(path, folder / "hard");
    CHECK(code("m") == "save.link");
    CHECK(code("hard") == "save.link");
    fs::remove(folder / "hard");
    CHECK(code("m") == "accepted");
    CHECK(text_of(path) == "modelx");
}

TEST_CASE("append_bytes: anything but the known file is refused") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = identity_of(path);
    const auto code = [&] { return code_of([&] { return appended(path, known, "x"); }); };
    folder.write("other", "model");
    fs::rename(folder / "other", path);
    CHECK(code() == "file.changed");
    CHECK(text_of(path) == "model");
    const os::FileIdentity other = identity_of(path);
    fs::resize_file(path, 3);
    CHECK(code_of([&] { return appended(path, other, "x"); }) == "file.changed");
    CHECK(text_of(path) == "mod");

    CHECK(errno_of([&] { return appended(folder / "missing", known, "x"); }) == ENOENT);
    fs::create_directory(folder / "folder");
    CHECK(errno_of([&] { return appended(folder / "folder", known, "x"); }) == EISDIR);
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    CHECK(errno_of([&] { return appended(folder / "fifo", known, "x"); }) == ENXIO);
    CHECK(code_of([&] { return appended("/dev/zero", known, "x"); }) == "save.not_regular");
}

TEST_CASE("append_bytes: a failure at any call leaves the file in its old state") {
    for (const int number : {ENOSPC, EIO, EDQUOT, EFBIG, EACCES, EINTR}) {
        // 0 and 1 open and lock the folder, 2 and 3 the file; the bytes are written by three calls,
        // and 7 syncs them.
        for (std::size_t call = 0; call < 8; ++call) {
            CAPTURE(number);
            CAPTURE(call);
            const TemporaryFolder folder;
            const std::string path = folder.write("m", "model");
            const os::FileIdentity known = identity_of(path);
            const WatchedWrites watched({.fails_at = call, .number = number, .most_at_once = 2});
            const int found = errno_of([&] { return appended(path, known, "abcdef"); });
            CHECK(watched.records()[call].failed);
            // The lock of a folder that may not be read is done without.
            if (number == EINTR || (number == EACCES && call == 0)) {
                CHECK(found == 0);
                CHECK(text_of(path) == "modelabcdef");
            } else {
                CHECK(found == number);
                CHECK(text_of(path) == "model");
                // So a model of the file can still be used.
                CHECK(identity_of(path) == known);
            }
        }
    }
}

TEST_CASE("append_bytes: a file that cannot be cut again is an error that says where") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = identity_of(path);
    const WatchedWrites watched({.fails_at = 5, .and_all_later = true, .most_at_once = 2});
    const auto error = error_of([&] { return appended(path, known, "abcdef"); });
    REQUIRE(error);
    CHECK(error->code == "save.not_restored");
    CHECK(error->file == path);
    CHECK(std::string(error->what()).find("Cut it to 5 bytes") != std::string::npos);
    CHECK(text_of(path) == "modelab");
}

TEST_CASE("append_bytes: another process that writes meanwhile is noticed") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = identity_of(path);
    const WatchedWrites watched({.before = [&](std::size_t call) {
        if (call == 4) folder.write("m", "a model that is longer now");
    }});
    CHECK(code_of([&] { return appended(path, known, "x"); }) == "file.changed");
}

TEST_CASE("append_bytes: a file that may not grow further") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "model");
    const os::FileIdentity known = identity_of(path);
    const auto ending = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{7, 7};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return -2;
        return errno_of([&] { return appended(path, known, "abcdef"); });
    });
    CHECK(ending == Ending{EFBIG, 0});
    CHECK(text_of(path) == "model");
    CHECK(identity_of(path) == known);
}

}  // namespace onnxmap::test
