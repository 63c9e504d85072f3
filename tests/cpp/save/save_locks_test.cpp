// Saves that happen at the same time, and names that change while a save writes.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "plain_os.hpp"
#include "save/append_bytes.hpp"
#include "save/save_scenarios.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// The folder, locked as another process locks it.
class FolderLock {
  public:
    explicit FolderLock(const TemporaryFolder& folder)
        : folder_(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC)) {
        REQUIRE(os::kSystemWriteCalls.lock(folder_.number()) == 0);
    }

  private:
    os::Descriptor folder_;
};

std::vector<save::OutputFile> pair_in(const TemporaryFolder& folder, std::string_view text) {
    return list_of(model_file(folder / "m", text), data_file(folder / "w", text));
}

os::FileIdentity state_at(const std::string& path) { return os::File::open(path).identity(); }

// Options that let `act` happen once all new files are complete.
save::SaveOptions when_written(std::function<void()> act) {
    save::SaveOptions options;
    options.sync = false;
    options.progress = [act = std::move(act)](std::uint64_t done, std::uint64_t total) mutable {
        if (done == total && act) std::exchange(act, nullptr)();
    };
    return options;
}

}  // namespace

TEST_CASE("save_locks: names change only once another program has given its lock back") {
    ONNXMAP_NEEDS_LINUX("POSIX has no locks of open files");
    const TemporaryFolder folder;
    const Texts old = {{"m", "1"}, {"w", "1"}};
    for (const auto& [name, text] : old) folder.write(name, text);
    std::optional<FolderLock> lock(std::in_place, folder);

    save::SaveOptions options;
    options.patience = milliseconds{20};
    const auto error = error_of([&] { return save::save_files(pair_in(folder, "2"), options); });
    REQUIRE(error);
    CHECK(error->code == "save.locked");
    CHECK(error->file == folder / "m");
    CHECK(texts_in(folder.path()) == old);

    options.patience = milliseconds{60'000};
    options.look = [] { throw std::domain_error("interrupted"); };
    CHECK_THROWS_AS(static_cast<void>(save::save_files(pair_in(folder, "2"), options)),
                    std::domain_error);
    CHECK(texts_in(folder.path()) == old);

    int looks = 0;
    options.look = [&] {
        CHECK(with_ending(texts_in(folder.path()), "-old").empty());
        if (++looks == 3) lock.reset();
    };
    static_cast<void>(save::save_files(pair_in(folder, "2"), options));
    CHECK(looks == 3);
    CHECK(texts_in(folder.path()) == Texts{{"m", "2"}, {"w", "2"}});
    { const FolderLock free(folder); }
}

TEST_CASE("save_locks: the lock is given back after each end") {
    ONNXMAP_NEEDS_LINUX("POSIX has no locks of open files");
    for (std::size_t call = 0; call < 40; ++call) {
        const TemporaryFolder folder;
        folder.write("m", "1");
        folder.write("w", "1");
        try {
            const WatchedWrites watched({.fails_at = call});
            static_cast<void>(save::save_files(pair_in(folder, "2")));
        } catch (const Failure&) {
            // Only the lock counts.
        }
        const FolderLock free(folder);
    }
}

TEST_CASE("save_locks: file systems without locks") {
    for (const int number : {ENOLCK, EINVAL, ENOSYS, EOPNOTSUPP, EBADF, EISDIR}) {
        CAPTURE(number);
        const TemporaryFolder folder;
        const WatchedWrites watched({.never = {{Write::lock, number}, {Write::unlock, number}}});
        static_cast<void>(save::save_files(pair_in(folder, "2")));
        CHECK(texts_in(folder.path()) == Texts{{"m", "2"}, {"w", "2"}});
    }
}

TEST_CASE("save_locks: saves of several folders in any order end") {
    ONNXMAP_NEEDS_LINUX("POSIX has no locks of open files");
    const TemporaryFolder folder;
    for (const char* name : {"a", "b", "c"}) fs::create_directory(folder.path() / name);
    std::vector<std::jthread> threads;
    for (int first = 0; first < 3; ++first) {
        threads.emplace_back([&folder, first] {
            const std::string names = "abcab";
            for (int round = 0; round < 50; ++round) {
                save::SaveOptions options;
                options.sync = false;
                std::vector<save::OutputFile> files;
                for (int i = 0; i < 3; ++i) {
                    const std::string name(1, names[static_cast<std::size_t>(first + i)]);
                    files.push_back(model_file(folder / (name + "/m"), "x"));
                }
                static_cast<void>(save::save_files(files, options));
            }
        });
    }
    threads.clear();
    for (const char* name : {"a", "b", "c"}) {
        CHECK(texts_in(folder.path() / name) == Texts{{"m", "x"}});
    }
}

TEST_CASE("save_locks: two savers of one pair leave the pair of one of them") {
    ONNXMAP_NEEDS_LINUX("POSIX has no locks of open files");
    const TemporaryFolder folder;
    const auto save_often = [&](const char* text) {
        save::SaveOptions options;
        options.sync = false;
        for (int round = 0; round < 100; ++round) {
            static_cast<void>(save::save_files(pair_in(folder, text), options));
        }
    };
    for (int round = 0; round < 3; ++round) {
        {
            const std::jthread other([&] { save_often("B"); });
            save_often("A");
        }
        const Texts texts = texts_in(folder.path());
        CHECK(texts.size() == 2);
        CHECK(texts.at("m") == texts.at("w"));
    }
}

TEST_CASE("save_locks: what has the names is looked up again") {
    SUBCASE("a pair that appeared meanwhile is replaced as one") {
        const TemporaryFolder folder;
        const auto options = when_written([&] {
            folder.write("m", "theirs");
            folder.write("w", "theirs");
        });
        static_cast<void>(save::save_files(pair_in(folder, "2"), options));
        CHECK(texts_in(folder.path()) == Texts{{"m", "2"}, {"w", "2"}});
    }
    SUBCASE("a folder that appeared meanwhile is refused") {
        const TemporaryFolder folder;
        const auto options = when_written([&] { fs::create_directory(folder.path() / "m"); });
        CHECK(errno_of([&] { return save::save_files(pair_in(folder, "2"), options); }) == EISDIR);
        CHECK(texts_in(folder.path()) == Texts{{"m", "(other)"}});
    }
    SUBCASE("a data file that must not be replaced is refused") {
        const TemporaryFolder folder;
        const auto options = when_written([&] { folder.write("w", "theirs"); });
        auto files = pair_in(folder, "2");
        files[1].may_replace = false;
        CHECK(errno_of([&] { return save::save_files(files, options); }) == EEXIST);
        CHECK(texts_in(folder.path()) == Texts{{"w", "theirs"}});
    }
    SUBCASE("the caller judges data files that appeared meanwhile") {
        for (const bool appears : {false, true}) {
            const TemporaryFolder folder;
            if (!appears) folder.write("w", "1");
            auto options = when_written([&] {
                if (appears) folder.write("w", "theirs");
            });
            int asked = 0;
            options.check_again = [&]() -> std::vector<std::string> {
                ++asked;
                throw std::domain_error("another model uses it");
            };
            if (appears) {
                CHECK_THROWS_AS(static_cast<void>(save::save_files(pair_in(folder, "2"), options)),
                                std::domain_error);
                CHECK(texts_in(folder.path()) == Texts{{"w", "theirs"}});
            } else {
                static_cast<void>(save::save_files(pair_in(folder, "2"), options));
            }
            CHECK(asked == (appears ? 1 : 0));
        }
    }
    SUBCASE("a file that is in use again is not removed") {
        for (const bool stays : {false, true}) {
            const TemporaryFolder folder;
            folder.write("side", "1");
            save::SaveOptions options;
            options.no_longer_used = {folder / "side"};
            options.check_again = [&] {
                return stays ? std::vector<std::string>() : options.no_longer_used;
            };
            static_cast<void>(save::save_files(pair_in(folder, "2"), options));
            CHECK(fs::exists(folder / "side") == stays);
        }
    }
}

TEST_CASE("save_locks: a known model is replaced in its known state only") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "1");
    const auto code = [&](const save::KnownFile& known, std::function<void()> meanwhile = {}) {
        auto options = when_written(std::move(meanwhile));
        options.known = {known};
        return code_of([&] { return save::save_files(pair_in(folder, "2"), options); });
    };
    const auto append = [&] {
        static_cast<void>(save::append_bytes(path, state_at(path), as_bytes("x")));
    };
    const auto replace = [&] { fs::rename(folder.write("other", "theirs"), path); };

    CHECK(code({path, state_at(path)}) == "accepted");
    CHECK(code({path, state_at(path)}, append) == "file.changed");
    CHECK(text_of(path) == "2x");
    CHECK(code({path, state_at(path)}, replace) == "file.changed");
    CHECK(text_of(path) == "theirs");
    const save::KnownFile before{path, state_at(path)};
    append();
    CHECK(code(before) == "file.changed");
    // Also if the file has got that name since.
    CHECK(code({folder / "elsewhere", before.state}) == "file.changed");
    CHECK(text_of(path) == "theirsx");
    CHECK(code({path, state_at(folder.write("elsewhere", "x")), false}) == "accepted");
    // A file of which nothing is known is replaced, and a name that is free is taken.
    CHECK(code({folder / "elsewhere", state_at(folder.write("elsewhere", "x"))}) == "accepted");
    CHECK(text_of(path) == "2");
    fs::remove(path);
    CHECK(code(before) == "accepted");
}

TEST_CASE("save_locks: a save reports the states of its models") {
    const TemporaryFolder folder;
    const auto result = save::save_files(pair_in(folder, "2"));
    REQUIRE(result.models.size() == 1);
    CHECK(result.models[0].path == folder / "m");
    CHECK(result.models[0].state == state_at(folder / "m"));
}

}  // namespace onnxmap::test
