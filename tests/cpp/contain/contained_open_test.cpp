// What the names in untrusted files may open under each policy. Nothing else may be opened.
#include "contain/contained_open.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "child_process.hpp"
#include "contain/opened_text.hpp"
#include "contain/without_openat2.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

using contain::LinkPolicy;

constexpr int kCannot = 77;
const std::string kIsLink = refusal_text(contain::Refusal::is_link);
const std::string kHasLinks = refusal_text(contain::Refusal::has_hard_links);
const std::string kNotRegular = refusal_text(contain::Refusal::not_regular);

// A model's folder, the folder that really holds its file, and a folder that must stay closed.
class Tree {
  public:
    Tree() {
        folder.write("outside/secret.bin", "secret");
        folder.write("real/w.bin", "real");
        folder.write("model/w.bin", "weights");
        folder.write("model/sub/w.bin", "below");
        folder.write("model/..w.bin", "dots");
        folder.write("model/hard", "hard");
        fs::create_hard_link(model / "hard", folder.path() / "outside/hard");
        fs::create_symlink("hard", model / "link_to_hard");
        fs::create_symlink("w.bin", model / "link_in");
        fs::create_symlink("../real/w.bin", model / "link_real");
        fs::create_symlink("../outside/secret.bin", model / "link_out");
        fs::create_symlink(folder.path() / "outside/secret.bin", model / "link_absolute");
        fs::create_symlink("../outside", model / "dir_out");
        fs::create_symlink("sub", model / "dir_in");
        fs::create_symlink("loop", model / "loop");
        fs::create_symlink("missing", model / "dangling");
        fs::create_symlink("/proc/self/environ", model / "link_proc");
        fs::create_symlink("/dev/zero", model / "link_zero");
        fs::create_symlink("fifo", model / "link_fifo");
        REQUIRE(::mkfifo((model / "fifo").c_str(), 0600) == 0);
        make_socket();
    }

    [[nodiscard]] Roots roots() const {
        return {os::Folder::open_shared(model.string()),
                os::Folder::open_shared((folder.path() / "real").string())};
    }
    [[nodiscard]] std::string open(const std::string& name, contain::OpenPolicy policy = {}) const {
        return open_contained(roots(), name, policy);
    }

    TemporaryFolder folder;
    fs::path model = folder.path() / "model";

  private:
    void make_socket() const {
        const os::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = (model / "socket").string();
        REQUIRE(path.size() < sizeof address.sun_path);
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        REQUIRE(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof address) == 0);
    }
};

// The verdict on a name if links are followed inside, if none are followed, and if all are.
struct Verdicts {
    std::string contained;
    std::string strict;
    std::string trusted;
};

std::map<std::string, Verdicts> expected() {
    const auto same = [](const std::string& one) { return Verdicts{one, one, one}; };
    return {
        {"w.bin", same("weights")},
        {"./sub//w.bin", same("below")},
        {"sub/../w.bin", same("weights")},
        {"..w.bin", same("dots")},
        {"missing", same(errno_text(ENOENT))},
        {"w.bin/x", same(errno_text(ENOTDIR))},
        {std::string(300, 'n'), same(errno_text(ENAMETOOLONG))},
        {"sub", same(errno_text(EISDIR))},
        {"sub/..", same(errno_text(EISDIR))},
        {"fifo", same(kNotRegular)},
        {"socket", same(kNotRegular)},
        {"link_fifo", {kNotRegular, kIsLink, kNotRegular}},
        {"link_in", {"weights", kIsLink, "weights"}},
        {"dir_in/w.bin", {"below", kIsLink, "below"}},
        {"link_real", {"real", kIsLink, "real"}},
        {"link_out", {kOutside, kIsLink, "secret"}},
        {"link_absolute", {kOutside, kIsLink, "secret"}},
        {"dir_out/secret.bin", {kOutside, kIsLink, "secret"}},
        {"dir_out/missing", {kOutside, kIsLink, errno_text(ENOENT)}},
        {"link_proc", {kOutside, kIsLink, kNotRegular}},
        {"link_zero", {kOutside, kIsLink, kNotRegular}},
        {"loop", {errno_text(ELOOP), kIsLink, errno_text(ELOOP)}},
        {"dangling", {errno_text(ENOENT), kIsLink, errno_text(ENOENT)}},
        {"hard", {kHasLinks, kHasLinks, "hard"}},
        {"link_to_hard", {kHasLinks, kIsLink, "hard"}},
    };
}

void check_verdicts(const Tree& tree) {
    for (const auto& [name, verdicts] : expected()) {
        CAPTURE(name);
        CHECK(tree.open(name) == verdicts.contained);
        CHECK(tree.open(name, {LinkPolicy::strict}) == verdicts.strict);
        CHECK(tree.open(name, {LinkPolicy::trusted}) == verdicts.trusted);
    }
    CHECK(tree.open("hard", {LinkPolicy::contained, true}) == "hard");
    CHECK(tree.open("link_to_hard", {LinkPolicy::contained, true}) == "hard");
    CHECK(tree.open("hard", {LinkPolicy::strict, true}) == "hard");
    CHECK(tree.open("link_to_hard", {LinkPolicy::strict, true}) == kIsLink);
}

}  // namespace

TEST_CASE("contained_open: which names open under each policy") {
    const Tree tree;
    os::close_held();
    const std::size_t before = open_descriptors();
    check_verdicts(tree);
    CHECK(open_descriptors() == before);
}

TEST_CASE("contained_open: the verdicts are the same without openat2") {
    const Tree tree;
    os::close_held();
    const std::size_t before = open_descriptors();
    for (const int number : {ENOSYS, EPERM, EINVAL}) {
        CAPTURE(number);
        if (!run_without_openat2(number, [&] { check_verdicts(tree); })) {
            MESSAGE("seccomp is not available here: this was not tested");
            return;
        }
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("contained_open: the verdicts are the same without /proc") {
    const Tree tree;
    const Ending ending = in_child([&] {
        // A root folder in which /proc is not mounted.
        if (::chroot(tree.folder.path().c_str()) != 0) return errno == EPERM ? kCannot : 1;
        const Roots roots = {os::Folder::open_shared("/model"), os::Folder::open_shared("/real")};
        for (const auto& [name, verdicts] : expected()) {
            // These links lead to files that are missing in the new root.
            if (name == "link_proc" || name == "link_zero" || name == "link_absolute") continue;
            const bool good =
                open_contained(roots, name) == verdicts.contained &&
                open_contained(roots, name, {LinkPolicy::strict}) == verdicts.strict &&
                open_contained(roots, name, {LinkPolicy::trusted}) == verdicts.trusted;
            if (!good) throw Error("", name + ": " + open_contained(roots, name));
        }
        return 0;
    });
    if (ending == Ending{kCannot, 0}) {
        MESSAGE("this user may not call chroot: this was not tested");
        return;
    }
    CHECK(ending == Ending{0, 0});
}

TEST_CASE("contained_open: files of the kernel are refused, even if they claim to be regular") {
    const Roots everything = {os::Folder::open_shared("/")};
    for (const char* name : {"proc/self/environ", "proc/self/mem", "proc/version"}) {
        CAPTURE(name);
        struct stat status{};
        REQUIRE(::stat((std::string("/") + name).c_str(), &status) == 0);
        REQUIRE(S_ISREG(status.st_mode));
        CHECK(open_contained(everything, name) == kNotRegular);
        CHECK(open_contained(everything, name, {LinkPolicy::trusted, true}) == kNotRegular);
    }
    CHECK(open_contained(everything, "dev/null") == kNotRegular);
    if (fs::is_regular_file("/sys/kernel/uevent_seqnum")) {
        CHECK(open_contained(everything, "sys/kernel/uevent_seqnum") == kNotRegular);
    }
}

TEST_CASE("contained_open: errors name the file") {
    const Tree tree;
    const contain::ContainedOpen opener(tree.roots(), {});
    for (const char* name : {"missing", "loop", "dangling", "sub", "w.bin/x"}) {
        CAPTURE(name);
        try {
            static_cast<void>(opener.open(name));
            FAIL("opened");
        } catch (const FileError& error) {
            CHECK(error.path == (tree.model / name).string());
        }
    }
    for (const char* name : {"fifo", "hard", "link_to_hard"}) {
        CAPTURE(name);
        try {
            static_cast<void>(opener.open(name));
            FAIL("opened");
        } catch (const contain::Refused& refused) {
            CHECK(refused.path == (tree.model / name).string());
        }
    }
}

TEST_CASE("contained_open: an opened file opens again, even if it has another hard link") {
    const Tree tree;
    const contain::ContainedOpen opener(tree.roots(), {});
    const auto again = [&](const std::string& name) {
        return opened_text([&] {
            const os::FileIdentity file = opener.look(name);
            return std::string(opener.open_again(name, file).identity() == file ? "same"
                                                                                : "another");
        });
    };
    CHECK(again("w.bin") == "same");
    CHECK(again("hard") == "same");
    CHECK(again("link_real") == "same");
    CHECK(again("link_out") == kOutside);
    CHECK(again("missing") == errno_text(ENOENT));
    for (const char* other : {"sub/w.bin", "fifo", "hard"}) {
        CHECK(opened_text([&] { return opener.open_again(other, opener.look("w.bin")).path(); }) ==
              refusal_text(contain::Refusal::being_replaced));
    }
    CHECK(opened_text([&] { return std::to_string(opener.look("link_out").size); }) == kOutside);
    CHECK(opener.look("w.bin").same_file(opener.open("w.bin").identity()));
    CHECK_FALSE(opener.look("sub/w.bin").same_file(opener.open("w.bin").identity()));
}

TEST_CASE("contained_open: the opened folder counts, not its name") {
    const Tree tree;
    const contain::ContainedOpen opener(tree.roots(), {});
    fs::rename(tree.model, tree.folder.path() / "moved");
    fs::create_directory_symlink(tree.folder.path() / "outside", tree.model);
    tree.folder.write("outside/w.bin", "planted");
    const auto read = [&] {
        return opened_text([&] {
            const os::File file = opener.open("w.bin");
            std::string text(file.size(), '\0');
            file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
            return text;
        });
    };
    CHECK(read() == "weights");
    // After its descriptor was closed, the folder that now has the name is not accepted.
    os::close_held();
    CHECK(read() == "file.changed");
    fs::remove(tree.model);
    CHECK(read() == errno_text(ENOENT));
    fs::rename(tree.folder.path() / "moved", tree.model);
    CHECK(read() == "weights");
}

TEST_CASE("contained_open: a file without permission is refused, also through a link") {
    const Tree tree;
    fs::permissions(tree.folder.path(), fs::perms(0755));
    fs::permissions(tree.model / "w.bin", fs::perms::none);
    const Ending ending = in_child([&] {
        if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 1;
        for (const bool dumpable : {true, false}) {
            if (::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) != 0) return 2;
            for (const auto policy : {LinkPolicy::contained, LinkPolicy::trusted}) {
                if (tree.open("w.bin", {policy}) != errno_text(EACCES)) return 3;
                if (tree.open("link_in", {policy}) != errno_text(EACCES)) return 4;
            }
        }
        return 0;
    });
    CHECK(ending == Ending{0, 0});
}

}  // namespace onnxmap::test
