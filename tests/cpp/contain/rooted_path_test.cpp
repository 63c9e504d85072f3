#include "contain/rooted_path.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plain_os.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// A file below two folders, and its place below them.
struct PlacedFile {
    [[nodiscard]] std::string place() const {
        const auto found = contain::rooted_path_of(file, folders);
        if (!found) return "nowhere";
        return fs::path(found->folder).lexically_relative(top).string() + " : " +
               found->relative_path;
    }
    [[nodiscard]] std::string at(const char* name) const { return (top / name).string(); }
    void add(const char* name) {
        folders.push_back(std::make_shared<const os::Folder>(folder / name));
    }

    TemporaryFolder folder;
    fs::path top = fs::canonical(folder.path());  // temporary files may be behind links
    os::File file = os::File::open(folder.write("models/sub/w.bin", "weights"));
    std::vector<std::shared_ptr<const os::Folder>> folders;
};

}  // namespace

TEST_CASE("rooted_path: the place is below the first folder that contains the file") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    PlacedFile tree;
    CHECK(tree.place() == "nowhere");
    fs::create_directory(tree.at("model"));  // its name begins like that of `models`
    tree.add("model");
    CHECK(tree.place() == "nowhere");
    tree.add("models/sub");
    tree.add("models");
    CHECK(tree.place() == "models/sub : w.bin");
    tree.folders.erase(tree.folders.begin() + 1);
    CHECK(tree.place() == "models : sub/w.bin");
}

TEST_CASE("rooted_path: the place does not name the links that led to the folder or the file") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    PlacedFile tree;
    fs::create_directory_symlink("models", tree.at("alias"));
    fs::create_symlink("sub/w.bin", tree.at("models/link"));
    tree.file = os::File::open(tree.folder / "alias/link");
    tree.add("alias");
    CHECK(tree.place() == "models : sub/w.bin");
}

TEST_CASE("rooted_path: the place follows file and folder, even if others have their names") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    PlacedFile tree;
    tree.add("models");
    fs::rename(tree.at("models"), tree.at("moved"));
    fs::create_directory(tree.at("models"));
    CHECK(tree.place() == "moved : sub/w.bin");
    fs::rename(tree.at("moved/sub/w.bin"), tree.at("moved/renamed"));
    tree.folder.write("moved/sub/w.bin", "another");
    CHECK(tree.place() == "moved : renamed");
    fs::rename(tree.at("moved/renamed"), tree.at("outside"));
    CHECK(tree.place() == "nowhere");
}

TEST_CASE("rooted_path: a closed folder has no place if another folder has its name") {
    ONNXMAP_NEEDS_LINUX("paths of open files");
    PlacedFile tree;
    tree.add("models");
    os::close_held();
    CHECK(tree.place() == "models : sub/w.bin");
    fs::rename(tree.at("models"), tree.at("moved"));
    fs::create_directory(tree.at("models"));
    os::close_held();
    CHECK(tree.place() == "nowhere");
}

TEST_CASE("path_below: whole names are compared") {
    CHECK(os::path_below("/a/b", "/a") == "/b");
    CHECK(os::path_below("/a/b", "/") == "a/b");
    CHECK(os::path_below("/a", "/a").value().empty());
    CHECK_FALSE(os::path_below("/ab", "/a"));
    CHECK_FALSE(os::path_below("/b", "/a"));
    CHECK_FALSE(os::path_below("/a", ""));
}

}  // namespace onnxmap::test
