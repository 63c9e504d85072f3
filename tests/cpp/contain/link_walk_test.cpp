// A walk over links, link by link: where it ends.
#include "contain/link_walk.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "child_process.hpp"
#include "contain/opened_text.hpp"
#include "plain_os.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// The folder of a model, another allowed folder, and a folder that must stay closed.
struct LinkTree {
    LinkTree() {
        folder.write("model/w.bin", "weights");
        folder.write("model/sub/w.bin", "below");
        folder.write("real/w.bin", "real");
        folder.write("outside/secret.bin", "secret");
        folder.write("outside/deep/secret.bin", "secret");
        folder.write("model2/w.bin", "secret");
    }

    [[nodiscard]] fs::path at(std::string_view name) const { return top / name; }
    void link(std::string_view name, const fs::path& target) const {
        fs::create_symlink(target, at(name));
    }
    /// Links i0, i1 and so on. Each leads to the next one, the last to `target`.
    void chain(const std::string& name, int count, const std::string& target) const {
        for (int i = 0; i < count; ++i) {
            const std::string next = name + std::to_string(i + 1);
            link("model/" + name + std::to_string(i), i + 1 < count ? next : target);
        }
    }
    [[nodiscard]] Roots roots(std::initializer_list<const char*> names) const {
        Roots found;
        for (const char* name : names) found.push_back(os::Folder::open_shared(at(name).string()));
        return found;
    }
    [[nodiscard]] std::string walk(const std::string& location, bool follow_links = true) const {
        return test::walk(roots({"model", "real"}), location, follow_links);
    }
    /// The result of a walk over a new link in the model's folder that leads to this target.
    [[nodiscard]] std::string leads(const fs::path& target) const {
        const std::string name = "link" + std::to_string(links_++);
        link("model/" + name, target);
        return walk(name);
    }

    TemporaryFolder folder;
    fs::path top = fs::canonical(folder.path());

  private:
    mutable int links_ = 0;
};

}  // namespace

TEST_CASE("link_walk: files without links are found, whatever separates the names") {
    const LinkTree tree;
    for (const bool follow : {true, false}) {
        for (const char* name : {"w.bin", "./w.bin", "sub/../w.bin", "sub/.././/sub/../w.bin"}) {
            CAPTURE(name);
            CHECK(tree.walk(name, follow) == "weights");
        }
        CHECK(tree.walk("sub//w.bin", follow) == "below");
        CHECK(tree.walk("missing", follow) == errno_text(ENOENT));
        CHECK(tree.walk("missing/w.bin", follow) == errno_text(ENOENT));
        CHECK(tree.walk("w.bin/x", follow) == errno_text(ENOTDIR));
        CHECK(tree.walk("w.bin/..", follow) == errno_text(ENOTDIR));
        CHECK(tree.walk("sub/..", follow) == errno_text(EISDIR));
        CHECK(tree.walk(std::string(300, 'n'), follow) == errno_text(ENAMETOOLONG));
        // The text is checked before the walk. The walk refuses it nevertheless.
        CHECK(tree.walk("..", follow) == kOutside);
        CHECK(tree.walk("../outside/secret.bin", follow) == kOutside);
        CHECK(tree.walk("sub/../../outside/secret.bin", follow) == kOutside);
    }
}

TEST_CASE("link_walk: it finds the object and the folder that holds it") {
    const LinkTree tree;
    tree.link("model/link", "sub/../sub/w.bin");
    contain::LinkWalk walk(tree.roots({"model"}), true);
    const os::FoundObject found = walk.find("link");
    CHECK(text_of(found) == "below");
    CHECK(found.name() == "w.bin");
    struct stat folder{};
    struct stat expected{};
    REQUIRE(::fstat(found.folder()->number(), &folder) == 0);
    REQUIRE(::stat(tree.at("model/sub").c_str(), &expected) == 0);
    CHECK(folder.st_ino == expected.st_ino);
}

TEST_CASE("link_walk: links that end in a root open, whatever way they take") {
    const LinkTree tree;
    CHECK(tree.leads("w.bin") == "weights");
    CHECK(tree.leads("./sub/../w.bin") == "weights");
    CHECK(tree.leads(tree.at("model/w.bin")) == "weights");
    CHECK(tree.leads(tree.at("model") / ".." / "model" / "w.bin") == "weights");
    CHECK(tree.leads("//" + tree.at("model/w.bin").string()) == "weights");
    CHECK(tree.leads("../model/w.bin") == "weights");
    CHECK(tree.leads("../outside/deep/../../model/sub/w.bin") == "below");
    CHECK(tree.leads("../real/w.bin") == "real");
    CHECK(tree.leads(tree.at("real/w.bin")) == "real");
    CHECK(tree.leads("../real/../model/w.bin") == "weights");
    // The way leads through links outside the roots, which may be read but not opened.
    tree.link("outside/back", "../model/w.bin");
    tree.link("outside/back_absolute", tree.at("model/w.bin"));
    tree.link("outside/further", "deep/back");
    tree.link("outside/deep/back", "../../real/w.bin");
    CHECK(tree.leads("../outside/back") == "weights");
    CHECK(tree.leads("../outside/back_absolute") == "weights");
    CHECK(tree.leads("../outside/further") == "real");
    // ".." goes up from the target of a link, not from the link.
    tree.link("outside/elsewhere", "deep");
    CHECK(tree.leads("../outside/elsewhere/../../model/w.bin") == "weights");
    CHECK(tree.leads("../outside/elsewhere/../model/w.bin") == kOutside);
    // ".." at the top of the file system stays there.
    CHECK(tree.leads("../../../../../../../../../../../../../../../../" +
                     tree.at("model/w.bin").string()) == "weights");
}

TEST_CASE("link_walk: through a linked folder outside, only files in a root open") {
    const LinkTree tree;
    tree.link("model/out", "../outside");
    tree.link("model/home", "..");
    tree.link("outside/back", "../model/sub");
    CHECK(tree.walk("out/secret.bin") == kOutside);
    CHECK(tree.walk("out/missing") == kOutside);  // the verdict does not tell whether it exists
    CHECK(tree.walk("out/deep/secret.bin") == kOutside);
    CHECK(tree.walk("out/back/w.bin") == "below");
    CHECK(tree.walk("out/back/missing") == errno_text(ENOENT));
    CHECK(tree.walk("out/back/../w.bin") == "weights");
    CHECK(tree.walk("out/../model/w.bin") == "weights");
    CHECK(tree.walk("out") == kOutside);
    CHECK(tree.walk("home/model/w.bin") == "weights");
    CHECK(tree.walk("home/real/w.bin") == "real");
    CHECK(tree.walk("home/model") == errno_text(EISDIR));
    CHECK(tree.walk("home/model2/w.bin") == kOutside);  // its name begins like that of a root
    CHECK(tree.walk("home/outside/secret.bin") == kOutside);
}

TEST_CASE("link_walk: links to anything outside the roots are refused, whether it exists or not") {
    const LinkTree tree;
    for (const char* target :
         {"../outside/secret.bin", "../outside/missing", "../missing/x", "..", "../..", "/",
          "/etc/passwd", "/missing", "/dev/zero", "../outside", "../model2/w.bin",
          "../outside/secret.bin/x", "/proc/self/environ"}) {
        CAPTURE(target);
        CHECK(tree.leads(target) == kOutside);
    }
    // Inside a root, an error may say that the file is missing.
    CHECK(tree.leads("missing") == errno_text(ENOENT));
    CHECK(tree.leads("../model/missing") == errno_text(ENOENT));
    CHECK(tree.leads("../real/missing") == errno_text(ENOENT));
    CHECK(tree.leads("sub") == errno_text(EISDIR));
    CHECK(tree.leads("../real") == errno_text(EISDIR));
    CHECK(tree.leads("w.bin/x") == errno_text(ENOTDIR));
}

TEST_CASE("link_walk: if links must not be followed, none is") {
    const LinkTree tree;
    tree.link("model/in", "w.bin");
    tree.link("model/out", "../outside/secret.bin");
    tree.link("model/folder", "sub");
    tree.link("model/loop", "loop");
    tree.link("model/dangling", "missing");
    for (const char* name : {"in", "out", "folder/w.bin", "folder", "loop", "dangling"}) {
        CAPTURE(name);
        CHECK(tree.walk(name, false) == refusal_text(contain::Refusal::is_link));
    }
}

TEST_CASE("link_walk: follows as many links as the system, and no more") {
    const LinkTree tree;
    tree.chain("forty", 40, "w.bin");
    tree.chain("more", 41, "w.bin");
    CHECK(tree.walk("forty0") == "weights");
    CHECK(tree.walk("more0") == errno_text(ELOOP));
    // The system has the same limit.
    const os::Descriptor forty(::open(tree.at("model/forty0").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(forty);
    const os::Descriptor more(::open(tree.at("model/more0").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK_FALSE(more);
    CHECK(errno == ELOOP);
    // All links of a location count together, including those outside.
    tree.link("model/here", ".");
    std::string longer = "w.bin";
    for (int i = 0; i < 40; ++i) longer = "here/" + longer;
    CHECK(tree.walk(longer) == "weights");
    CHECK(tree.walk("here/" + longer) == errno_text(ELOOP));
    tree.link("outside/back", "../model/forty1");
    tree.link("model/through", "../outside/back");
    CHECK(tree.walk("through") == errno_text(ELOOP));
}

TEST_CASE("link_walk: a link to a folder does not open a file") {
    const LinkTree tree;
    CHECK(tree.leads("w.bin") == "weights");
    CHECK(tree.leads("w.bin/") == errno_text(ENOTDIR));
    CHECK(tree.leads("w.bin/.") == errno_text(ENOTDIR));
    CHECK(tree.leads("sub/") == errno_text(EISDIR));
    tree.link("model/folder", "sub/");
    CHECK(tree.walk("folder/w.bin") == "below");
}

TEST_CASE("link_walk: loops are refused") {
    const LinkTree tree;
    tree.link("model/self", "self");
    tree.link("model/a", "b");
    tree.link("model/b", "./a");
    tree.link("model/folder", "folder/x");
    tree.link("model/far", "../outside/a");
    tree.link("outside/a", "b");
    tree.link("outside/b", "../model/far");
    tree.link("model/up", "../model/up/..");
    for (const char* name : {"self", "a", "b", "folder", "folder/w.bin", "far", "up/w.bin"}) {
        CAPTURE(name);
        CHECK(tree.walk(name) == errno_text(ELOOP));
    }
}

TEST_CASE("link_walk: one root may be inside another") {
    const LinkTree tree;
    tree.folder.write("model/x/w.bin", "between");
    tree.folder.write("model/x/y/z/w.bin", "deep");
    tree.link("model/x/y/up", "../w.bin");
    tree.link("model/x/y/top", "../../w.bin");
    tree.link("model/x/y/absolute", tree.at("model/x/w.bin"));
    tree.link("model/x/y/out", "../../../outside/secret.bin");
    tree.link("model/x/y/down", "../../x/y/z/w.bin");
    const std::string base = "model/x/y";
    const auto walk = [&](std::initializer_list<const char*> roots, const char* name) {
        return test::walk(tree.roots(roots), name);
    };
    // Here the model's folder contains the folder in which locations begin.
    for (const auto& roots :
         {tree.roots({"model/x/y", "model"}), tree.roots({"model/x/y", "model/x/y/z", "model"})}) {
        CHECK(test::walk(roots, "up") == "between");
        CHECK(test::walk(roots, "top") == "weights");
        CHECK(test::walk(roots, "absolute") == "between");
        CHECK(test::walk(roots, "down") == "deep");
        CHECK(test::walk(roots, "out") == kOutside);
    }
    CHECK(walk({"model/x/y", "model/x"}, "up") == "between");
    CHECK(walk({"model/x/y", "model/x"}, "top") == kOutside);
    CHECK(walk({"model/x/y"}, "up") == kOutside);
    CHECK(walk({"model/x/y"}, "down") == "deep");
    // The other way round, and with the same root twice.
    CHECK(walk({"model", "model/x"}, "x/y/top") == "weights");
    CHECK(walk({"model/x", "model/x/y", "model/x"}, "y/up") == "between");
    CHECK(walk({"model/x", "model/x/y", "model/x"}, "y/top") == kOutside);
}

TEST_CASE("link_walk: the root of the file system contains everything") {
    const LinkTree tree;
    tree.link("model/relative", "../outside/secret.bin");
    tree.link("model/absolute", tree.at("outside/secret.bin"));
    const Roots everything = {os::Folder::open_shared("/")};
    const std::string model = tree.at("model").relative_path().string();
    CHECK(walk(everything, model + "/w.bin") == "weights");
    CHECK(walk(everything, model + "/relative") == "secret");
    CHECK(walk(everything, model + "/absolute") == "secret");
    CHECK(walk(everything, "../../" + model + "/w.bin") == "weights");
    CHECK(walk(everything, model + "/missing") == errno_text(ENOENT));
    tree.link("model/top", "/");
    tree.link("model/gone", "/there is no such name");
    CHECK(walk(everything, model + "/top") == errno_text(EISDIR));
    CHECK(walk(everything, model + "/gone") == errno_text(ENOENT));
    const Roots both = {os::Folder::open_shared(tree.at("model").string()), everything[0]};
    CHECK(walk(both, "relative") == "secret");
    CHECK(walk(both, "absolute") == "secret");
}

TEST_CASE("link_walk: roots may be reached by links, or be moved afterwards") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    const LinkTree tree;
    tree.link("linked", "model");
    tree.link("model/back", "../model/w.bin");
    tree.link("model/by_link", "../linked/w.bin");
    const Roots roots = tree.roots({"linked"});
    CHECK(walk(roots, "back") == "weights");
    CHECK(walk(roots, "by_link") == "weights");
    fs::rename(tree.at("model"), tree.at("moved"));
    CHECK(walk(roots, "w.bin") == "weights");
    CHECK(walk(roots, "back") == kOutside);  // the link names a folder that is gone
    tree.link("moved/now", "../moved/w.bin");
    CHECK(walk(roots, "now") == "weights");
    tree.folder.write("model/w.bin", "planted");
    CHECK(walk(roots, "w.bin") == "weights");
    CHECK(walk(roots, "back") == kOutside);
}

TEST_CASE("link_walk: folders without permission are refused") {
    const LinkTree tree;
    tree.folder.write("model/closed/w.bin", "closed");
    tree.folder.write("outside/closed/x", "closed");
    tree.link("outside/closed/back", "../../model/w.bin");
    tree.link("model/out", "../outside/closed/back");
    tree.link("model/in", "closed/w.bin");
    const fs::perms nobody = fs::perms::owner_read;
    fs::permissions(tree.folder.path(), fs::perms(0755));
    fs::permissions(tree.at("model/closed"), nobody);
    fs::permissions(tree.at("outside/closed"), nobody);
    for (const bool dumpable : {true, false}) {
        CAPTURE(dumpable);  // a process that is not dumpable cannot use /proc/self
        const Ending ending = in_child([&] {
            if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 1;
            if (::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) != 0) return 2;
            const auto named = [&](const char* location) {
                const Roots roots = {std::make_shared<os::Folder>(tree.at("model").string())};
                return opened_text(
                    [&] { return contain::LinkWalk(roots, true).find(location).name(); });
            };
            if (named("w.bin") != "w.bin") return 3;
            if (named("closed/w.bin") != errno_text(EACCES)) return 4;
            if (named("in") != errno_text(EACCES)) return 5;
            // Outside the roots, the verdict does not tell that a folder is closed.
            return named("out") == kOutside ? 0 : 6;
        });
        CHECK(ending == Ending{0, 0});
    }
    fs::permissions(tree.at("model/closed"), fs::perms::owner_all);
    fs::permissions(tree.at("outside/closed"), fs::perms::owner_all);
}

TEST_CASE("link_walk: names that change during the walk never lead outside") {
    const LinkTree tree;
    tree.link("good", "sub");
    tree.link("bad", "../outside");
    fs::create_directory(tree.at("spare"));
    tree.folder.write("spare/secret.bin", "spare");
    fs::copy_file(tree.at("spare/secret.bin"), tree.at("model/sub/secret.bin"));
    std::atomic<bool> done = false;
    // "turn" is by turns a folder, a link inside, a link outside, and nothing.
    std::thread changer([&] {
        const std::string turn = tree.at("model/turn").string();
        const auto exchange = [&](const char* name) {
            const std::string other = tree.at(name).string();
            return ::rename(other.c_str(), turn.c_str()) == 0 &&
                   ::rename(turn.c_str(), other.c_str()) == 0;
        };
        while (!done) {
            for (const char* name : {"good", "bad", "spare"}) static_cast<void>(exchange(name));
        }
    });
    std::set<std::string> seen;
    const Roots roots = tree.roots({"model"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    while (std::chrono::steady_clock::now() < deadline) {
        seen.insert(walk(roots, "turn/secret.bin"));
        seen.insert(open_contained(roots, "turn/secret.bin"));
    }
    done = true;
    changer.join();
    CHECK(seen.contains("spare"));
    const std::set<std::string> allowed = {"spare", kOutside, errno_text(ENOENT),
                                           errno_text(ENOTDIR), errno_text(ELOOP)};
    for (const std::string& one : seen) {
        CAPTURE(one);
        CHECK(allowed.contains(one));
    }
}

}  // namespace onnxmap::test
