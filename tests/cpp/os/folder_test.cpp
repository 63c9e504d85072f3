#include "os/folder.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "plain_os.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

struct Tree {
    Tree() {
        fs::create_directory(model);
        folder.write("model/w.bin", "weights");
    }
    [[nodiscard]] std::string path(const char* name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    // The real path, because the system's folder for temporary files may be behind a link.
    fs::path top = fs::canonical(folder.path());
    fs::path model = folder.path() / "model";
};

}  // namespace

TEST_CASE("folder: opened once for each path, and closed at the end") {
    const Tree tree;
    os::close_held();
    const std::size_t before = open_descriptors();
    {
        const auto folder = os::Folder::open_shared(tree.model.string());
        CHECK(folder->path() == tree.model.string());
        CHECK(os::Folder::open_shared(tree.model.string()) == folder);
        CHECK(open_descriptors() == before + 1);
        // The same folder under another name is another Folder, because messages have the name.
        fs::create_directory_symlink("model", tree.path("link"));
        const auto link = os::Folder::open_shared(tree.path("link"));
        CHECK(link != folder);
        CHECK(link->path() == tree.path("link"));
        CHECK(link->real_path() == folder->real_path());
    }
    CHECK(open_descriptors() == before);
    const auto again = os::Folder::open_shared(tree.model.string());
    // If another folder has taken the name, the other one is opened.
    fs::rename(tree.model, tree.path("moved"));
    fs::create_directory(tree.model);
    CHECK(os::Folder::open_shared(tree.model.string()) != again);
}

TEST_CASE("folder: anything else is not opened") {
    const Tree tree;
    const auto number = [](const std::string& path) {
        return errno_of([&] { return os::Folder::open_shared(path); });
    };
    CHECK(number(tree.path("model/w.bin")) == ENOTDIR);
    CHECK(number(tree.path("nowhere")) == ENOENT);
    fs::create_directory_symlink("loop", tree.path("loop"));
    CHECK(number(tree.path("loop")) == ELOOP);
    CHECK(number(std::string(5000, 'n')) == ENAMETOOLONG);
}

TEST_CASE("folder: the real path follows the folder") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    const Tree tree;
    fs::create_directory_symlink("model", tree.path("link"));
    fs::create_directory_symlink("link", tree.path("link2"));
    const os::Folder folder(tree.path("link2"));
    CHECK(folder.real_path() == (tree.top / "model").string());
    CHECK(os::Folder("/").real_path() == "/");
    CHECK(os::Folder(tree.path("link/../model")).real_path() == (tree.top / "model").string());
    fs::rename(tree.model, tree.path("moved"));
    CHECK(folder.real_path() == (tree.top / "moved").string());
    CHECK(folder.path() == tree.path("link2"));
    fs::create_directory(tree.model);  // the links lead to this one now
    CHECK(folder.real_path() == (tree.top / "moved").string());
    fs::remove_all(tree.path("moved"));
    CHECK(folder.real_path().empty());
    // Linux shows a deleted folder with a suffix behind its name. The folder with that name is
    // another.
    fs::create_directory(tree.path("moved (deleted)"));
    CHECK(folder.real_path().empty());
}

TEST_CASE("folder: while its descriptor is open, it stays the same folder under any name") {
    const Tree tree;
    const os::Folder folder(tree.model.string());
    const auto opened = folder.open();
    fs::rename(tree.model, tree.path("moved"));
    CHECK(folder.open() == opened);
    fs::create_directory(tree.model);
    CHECK(folder.open() == opened);
    fs::remove_all(tree.path("moved"));
    CHECK(folder.open() == opened);
}

TEST_CASE("folder: after its descriptor was closed, the folder of that name must be the same") {
    const Tree tree;
    const os::Folder folder(tree.model.string());
    os::close_held();
    CHECK(folder.real_path() == (tree.top / "model").string());
    os::close_held();
    fs::rename(tree.model, tree.path("moved"));
    CHECK(errno_of([&] { return folder.open(); }) == ENOENT);
    CHECK(errno_of([&] { return folder.real_path(); }) == ENOENT);
    fs::create_directory(tree.model);
    const auto error = error_of([&] { return folder.open(); });
    REQUIRE(error);
    CHECK(error->code == "file.changed");
    CHECK(error->file == tree.model.string());
    // It is refused again the next time: the wrong folder was not kept.
    CHECK(code_of([&] { return folder.open(); }) == "file.changed");
    fs::remove(tree.model);
    fs::create_directory_symlink("moved", tree.model);
    CHECK(code_of([&] { return folder.open(); }) == "accepted");
    CHECK(folder.real_path() == (tree.top / "moved").string());
}

TEST_CASE("folder: of a model that is a link, the folder that really holds it is found") {
    const Tree tree;
    fs::create_directory(tree.path("here"));
    const os::FileIdentity file = os::File::open(tree.path("model/w.bin")).identity();
    const auto real = [&](const char* name) {
        const auto folder = os::real_folder_of(tree.path(name), file);
        return folder ? folder->real_path() : "none";
    };
    const std::string model = (tree.top / "model").string();
    CHECK(real("model/w.bin") == "none");  // it is not a link
    fs::create_symlink("../model/w.bin", tree.path("here/link"));
    CHECK(real("here/link") == model);
    fs::create_symlink("../here/link", tree.path("model/link"));
    fs::create_symlink(tree.path("model/link"), tree.path("here/chain"));
    CHECK(real("here/chain") == model);
    // The link leads to another file than the one that was opened.
    tree.folder.write("model/other", "weights");
    fs::create_symlink("../model/other", tree.path("here/other"));
    CHECK(real("here/other") == "none");
    fs::create_symlink("../model/missing", tree.path("here/dangling"));
    CHECK(real("here/dangling") == "none");
    fs::create_symlink("loop", tree.path("here/loop"));
    CHECK(real("here/loop") == "none");
    CHECK(real("here/missing") == "none");
    // Only the last component counts: the linked folder holds the file itself.
    fs::create_directory_symlink("model", tree.path("linked"));
    CHECK(real("linked/w.bin") == "none");
}

}  // namespace onnxmap::test
