#include "save/folders_beneath.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

save::OpenFolder opened(const TemporaryFolder& folder) {
    return std::make_shared<const os::OutputFolder>(folder.path().string(), "base");
}

// Whether the folder that was opened for a location is the expected one.
bool opens(save::FoldersBeneath& folders, const TemporaryFolder& folder,
           const std::string& location, const std::string& expected) {
    const auto found = folders.open(opened(folder), location, folder / location);
    const os::OutputFolder there(folder / expected, expected);
    return found->identity().same_file(there.identity());
}

}  // namespace

TEST_CASE("folders_beneath: the folder of a location") {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "a/b");
    save::FoldersBeneath folders(false, false);
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"w", "."},      {"a/w", "a"},           {"a/b/w", "a/b"}, {"./a//b/./w", "a/b"},
        {"a/../w", "."}, {"a/b/../../a/w", "a"},
    };
    for (const auto& [location, expected] : cases) {
        CAPTURE(location);
        CHECK(opens(folders, folder, location, expected));
    }
    const auto number = [&](const std::string& location) {
        return errno_of([&] { return folders.open(opened(folder), location, location); });
    };
    folder.write("file", "");
    CHECK(number("missing/w") == ENOENT);
    CHECK(number("file/w") == ENOTDIR);
    CHECK(number("../w") == EINVAL);
}

TEST_CASE("folders_beneath: new folders go again unless they are kept") {
    for (const bool kept : {false, true}) {
        for (const bool taken : {false, true}) {
            const TemporaryFolder folder;
            fs::create_directory(folder.path() / "a");
            {
                save::FoldersBeneath folders(true, false);
                CHECK(opens(folders, folder, "a/b/c/w", "a/b/c"));
                if (taken) folder.write("a/b/theirs", "x");
                if (kept) folders.keep();
            }
            CHECK(fs::exists(folder.path() / "a/b/c") == kept);
            CHECK(fs::exists(folder.path() / "a/b") == (kept || taken));
            CHECK(fs::exists(folder.path() / "a"));
        }
    }
}

TEST_CASE("folders_beneath: each new folder is in its parent on the disk first") {
    const TemporaryFolder folder;
    const WatchedWrites watched;
    save::FoldersBeneath folders(true, true);
    CHECK(opens(folders, folder, "a/b/w", "a/b"));
    std::vector<std::string> calls;
    for (const WriteRecord& record : watched.records()) {
        if (record.call == Write::make_folder) calls.push_back("make " + record.name);
        if (record.call == Write::sync) calls.push_back("sync");
    }
    CHECK(calls == std::vector<std::string>{"make a", "sync", "make b", "sync"});
}

TEST_CASE("folders_beneath: no link is followed") {
    const TemporaryFolder folder;
    const TemporaryFolder outside;
    fs::create_directory(folder.path() / "a");
    fs::create_directory_symlink(outside.path(), folder.path() / "a/link");
    fs::create_directory_symlink(".", folder.path() / "here");
    save::FoldersBeneath folders(true, false);
    for (const std::string location : {"a/link/w", "here/w", "here/a/w", "a/link/new/w"}) {
        const auto error =
            error_of([&] { return folders.open(opened(folder), location, location); });
        REQUIRE(error);
        CHECK(error->code == "ext.unsafe_path");
        CHECK(error->location == location);
    }
    CHECK(texts_in(outside.path()).empty());
}

TEST_CASE("folders_beneath: a folder that becomes a link between two calls") {
    const TemporaryFolder outside;
    for (std::size_t call = 0; call < 5; ++call) {
        const TemporaryFolder folder;
        fs::create_directories(folder.path() / "a/b");
        const auto base = opened(folder);
        const auto swap = [&](std::size_t now) {
            if (now != call) return;
            fs::rename(folder.path() / "a", folder.path() / "was");
            fs::create_directory_symlink(outside.path(), folder.path() / "a");
        };
        const WatchedWrites watched({.before = swap});
        save::FoldersBeneath folders(true, false);
        const std::string code = code_of([&] { return folders.open(base, "a/b/c/w", "w"); });
        // Once it is open, it stays the folder that it was.
        CHECK(code == (call == 0 ? "ext.unsafe_path" : "accepted"));
        CHECK(texts_in(outside.path()).empty());
    }
}

TEST_CASE("folders_beneath: the place of a file") {
    const TemporaryFolder folder;
    folder.write("a/w", "x");
    const save::PlaceBeneath place = save::place_beneath(folder.path().string(), "a/w");
    CHECK(place.name == "w");
    CHECK(place.path == folder / "a/w");
    CHECK(place.folder->look(place.name, place.path));
    fs::create_directory_symlink("a", folder.path() / "link");
    CHECK(code_of([&] { return save::place_beneath(folder.path().string(), "link/w"); }) ==
          "ext.unsafe_path");
}

}  // namespace onnxmap::test
