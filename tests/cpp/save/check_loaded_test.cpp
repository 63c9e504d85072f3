#include "save/check_loaded.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "caught.hpp"
#include "memory_source.hpp"
#include "opened.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;
using source::IoMode;

std::string code_of_reference(const source::Source& source, const std::string& path) {
    return code_of([&] {
        save::check_referred(source, path);
        return 0;
    });
}

}  // namespace

TEST_CASE("check_loaded: a reference leads to the file that was loaded") {
    for (const auto mode : {IoMode::mmap, IoMode::read}) {
        const TemporaryFolder folder;
        const std::string path = folder.write("w", "values");
        const auto source = open_source(path, mode);
        fs::create_symlink("w", folder / "link");
        CHECK(code_of_reference(*source, path) == "accepted");
        CHECK(code_of_reference(*source, folder / "link") == "accepted");
        fs::rename(path, folder / "moved");
        CHECK(code_of_reference(*source, path) == "file.changed");
        CHECK(code_of_reference(*source, folder / "moved") == "accepted");
        folder.write("w", "values");
        CHECK(code_of_reference(*source, path) == "file.changed");
        fs::resize_file(folder / "moved", 3);
        CHECK(code_of_reference(*source, folder / "moved") == "file.changed");
    }
    CHECK(code_of_reference(MemorySource(as_bytes("values")), "") == "accepted");
}

}  // namespace onnxmap::test
