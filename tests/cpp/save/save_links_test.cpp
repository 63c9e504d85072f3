// Permissions, owners and links of the files that a save replaces.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "caught.hpp"
#include "save/save_files.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;
using save::SaveOptions;

unsigned mode_of(const std::string& path) {
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

std::uint64_t inode_of(const std::string& path) {
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_ino;
}

// While an object of this class exists, the process has this umask.
class Umask {
  public:
    explicit Umask(mode_t mask) : before_(::umask(mask)) {}
    ~Umask() { ::umask(before_); }
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;

  private:
    mode_t before_;
};

}  // namespace

TEST_CASE("save_links: a new file has the mode of any new file, another keeps its own") {
    const TemporaryFolder folder;
    for (const unsigned mask : {0022U, 0077U, 0000U}) {
        const Umask umask(static_cast<mode_t>(mask));
        fs::remove(folder / "m");
        fs::remove(folder / "w");
        saved({}, model_file(folder / "m", "x"), data_file(folder / "w", "x"));
        CHECK(mode_of(folder / "m") == (0666U & ~mask));
        CHECK(mode_of(folder / "w") == (0666U & ~mask));
    }
    for (const mode_t mode : {mode_t{0640}, mode_t{0600}, mode_t{0444}, mode_t{0777}}) {
        const Umask umask(0027);
        REQUIRE(::chmod((folder / "m").c_str(), mode) == 0);
        REQUIRE(::chmod((folder / "w").c_str(), mode) == 0);
        SaveOptions options;
        options.replace_read_only = mode == 0444;
        saved(options, model_file(folder / "m", "y"), data_file(folder / "w", "y"));
        CHECK(mode_of(folder / "m") == mode);
        CHECK(mode_of(folder / "w") == mode);
    }
}

TEST_CASE("save_links: a file that its owner has protected is not replaced, also by root") {
    const TemporaryFolder folder;
    for (const char* name : {"m", "w"}) {
        folder.write("m", "old");
        folder.write("w", "old");
        REQUIRE(::chmod((folder / name).c_str(), 0444) == 0);
        const Texts before = texts_in(folder.path());
        const auto save = [&](const SaveOptions& options) {
            return saved(options, model_file(folder / "m", "new"), data_file(folder / "w", "new"));
        };
        CHECK(errno_of([&] { return save({}); }) == EACCES);
        CHECK(texts_in(folder.path()) == before);
        SaveOptions insists;
        insists.replace_read_only = true;
        save(insists);
        CHECK(texts_in(folder.path()) == Texts{{"m", "new"}, {"w", "new"}});
        CHECK(mode_of(folder / name) == 0444);
        fs::remove(folder / "m");
        fs::remove(folder / "w");
    }
}

TEST_CASE("save_links: what is no longer used goes last, unless another process has replaced it") {
    const TemporaryFolder folder;
    SaveOptions options;
    options.no_longer_used = {folder / "side", folder / "gone"};
    folder.write("side", "old values");
    saved(options, model_file(folder / "m", "new"));
    CHECK(texts_in(folder.path()) == Texts{{"m", "new"}});
    folder.write("side", "old values");
    options.progress = [&](std::uint64_t, std::uint64_t) {
        fs::rename(folder.write("other", "of another process"), folder / "side");
        options.progress = nullptr;
    };
    saved(options, model_file(folder / "m", "newer"));
    CHECK(texts_in(folder.path()) == Texts{{"m", "newer"}, {"side", "of another process"}});
}

TEST_CASE("save_links: nobody else can read the new file before it has the mode of the old one") {
    const TemporaryFolder folder;
    const Umask umask(0000);
    const std::string path = folder.write("m", "secret");
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    WritePlan plan;
    plan.before = [&](std::size_t) {
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            CHECK((mode_of(entry.path().string()) & 0007) == 0);
        }
    };
    const WatchedWrites watched(plan);
    saved({}, model_file(path, "new secret"));
    CHECK(watched.count(Write::set_mode) == 1);
}

TEST_CASE("save_links: another group gets no more than everybody if the group cannot be kept") {
    if (::geteuid() != 0) return;  // nobody else can give files away
    const TemporaryFolder folder;
    const std::string path = folder.write("m", "x");
    REQUIRE(::chown(path.c_str(), 12, 34) == 0);
    REQUIRE(::chmod(path.c_str(), 0664) == 0);
    saved({}, model_file(path, "y"));
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK(status.st_uid == 12);
    CHECK(status.st_gid == 34);
    CHECK(mode_of(path) == 0664);
    {
        WritePlan plan;
        plan.never[Write::set_owner] = EPERM;
        const WatchedWrites watched(plan);
        saved({}, model_file(path, "z"));
    }
    CHECK(mode_of(path) == 0644);
    CHECK(text_of(path) == "z");
}

TEST_CASE("save_links: a model's link is replaced, or its target if links are followed") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "far");
    folder.write("far/target", "old");
    REQUIRE(::chmod((folder / "far/target").c_str(), 0640) == 0);
    fs::create_symlink("far/target", folder / "middle");
    fs::create_symlink(folder / "middle", folder / "link");

    SaveOptions follow;
    follow.follow_symlinks = true;
    const std::uint64_t inode = inode_of(folder / "far/target");
    saved(follow, model_file(folder / "link", "through"));
    CHECK(texts_in(folder / "far") == Texts{{"target", "through"}});
    CHECK(inode_of(folder / "far/target") != inode);
    CHECK(mode_of(folder / "far/target") == 0640);
    CHECK(fs::is_symlink(folder / "link"));

    saved({}, model_file(folder / "link", "itself"));
    CHECK(!fs::is_symlink(folder / "link"));
    CHECK(texts_in(folder.path()) ==
          Texts{{"far", "(other)"}, {"link", "itself"}, {"middle", "-> far/target"}});
    CHECK(text_of(folder / "far/target") == "through");
    // The mode is that of a new file, not that of a link.
    CHECK((mode_of(folder / "link") & 0111) == 0);
}

TEST_CASE("save_links: links that lead nowhere, to a folder and in a circle") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "far");
    fs::create_symlink("far/new", folder / "dangling");
    fs::create_symlink("far", folder / "to_folder");
    fs::create_symlink("circle", folder / "circle");
    fs::create_symlink("missing/new", folder / "no_folder");
    SaveOptions follow;
    follow.follow_symlinks = true;
    saved(follow, model_file(folder / "dangling", "made"));
    CHECK(texts_in(folder / "far") == Texts{{"new", "made"}});
    const auto number = [&](const char* name) {
        return errno_of([&] { return saved(follow, model_file(folder / name, "x")); });
    };
    CHECK(number("to_folder") == EISDIR);
    CHECK(number("circle") == ELOOP);
    CHECK(number("no_folder") == ENOENT);
    CHECK(errno_of([&] { return saved({}, model_file(folder / "to_folder", "x")); }) == EISDIR);
    for (const char* name : {"dangling", "circle", "no_folder"}) {
        saved({}, model_file(folder / name, "itself"));
        CHECK(text_of(folder / name) == "itself");
    }
    CHECK(texts_in(folder / "far") == Texts{{"new", "made"}});
}

TEST_CASE("save_links: a data file whose name is a link is refused") {
    const TemporaryFolder folder;
    folder.write("victim", "untouched");
    folder.write("m", "old");
    fs::create_symlink("victim", folder / "w");
    for (const bool follow : {false, true}) {
        SaveOptions options;
        options.follow_symlinks = follow;
        const auto error = error_of([&] {
            return saved(options, model_file(folder / "m", "new"), data_file(folder / "w", "new"));
        });
        REQUIRE(error);
        CHECK(error->code == "save.link");
        CHECK(error->file == folder / "w");
    }
    CHECK(texts_in(folder.path()) ==
          Texts{{"m", "old"}, {"victim", "untouched"}, {"w", "-> victim"}});
}

TEST_CASE("save_links: other hard links keep the old content") {
    const TemporaryFolder folder;
    folder.write("m", "old model");
    folder.write("w", "old data");
    fs::create_hard_link(folder / "m", folder / "m2");
    fs::create_hard_link(folder / "w", folder / "w2");
    saved({}, model_file(folder / "m", "new model"), data_file(folder / "w", "new data"));
    CHECK(texts_in(folder.path()) ==
          Texts{{"m", "new model"}, {"m2", "old model"}, {"w", "new data"}, {"w2", "old data"}});
    CHECK(fs::hard_link_count(folder / "w") == 1);
}

}  // namespace onnxmap::test
