#include "source/shared_source.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "opened.hpp"
#include "os/file.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

std::shared_ptr<const source::Source> open(const std::string& path,
                                           source::IoMode mode = source::IoMode::mmap) {
    return source::open_shared(os::File::open(path), mode, os::path_locator(path));
}

// Changes the time of modification, and nothing else.
void touch(const std::string& path, std::int64_t nanoseconds) {
    const timespec times[] = {{0, UTIME_OMIT}, {1'000'000'000, nanoseconds}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("shared_source: a file has one mapping, which ends with its last holder") {
    const TemporaryFolder folder;
    const std::string path = folder.write("w", "weights");
    const std::size_t descriptors = open_descriptors();
    {
        const auto first = open(path);
        {
            const auto second = open(path);
            CHECK(first == second);
            CHECK(mappings_of(path) == 1);
        }
        CHECK(open(path) == first);
        CHECK(as_text(first->bytes()) == "weights");
        CHECK(open_descriptors() == descriptors + 1);
    }
    CHECK(mappings_of(path) == 0);
    CHECK(open_descriptors() == descriptors);
    // After that, the file can be opened again.
    CHECK(as_text(open(path)->bytes()) == "weights");
    CHECK(mappings_of(path) == 0);
}

TEST_CASE("shared_source: a file under another name has the same source") {
    const TemporaryFolder folder;
    const std::string path = folder.write("w", "weights");
    std::filesystem::create_hard_link(path, folder / "link");
    std::filesystem::create_symlink("w", folder / "symlink");
    const auto source = open(path);
    CHECK(open(folder / "link") == source);
    CHECK(open(folder / "symlink") == source);
    std::filesystem::rename(path, folder / "renamed");
    CHECK(open(folder / "renamed") == source);
}

TEST_CASE("shared_source: another file, state or mode has another source") {
    const TemporaryFolder folder;
    const std::string path = folder.write("w", "weights");
    const std::string same = folder.write("same", "weights");
    const auto source = open(path);
    CHECK(open(same) != source);
    CHECK(open(path, source::IoMode::read) != source);
    CHECK(open(path, source::IoMode::read)->kind() != std::string(source->kind()));
    // Written in place: another size.
    folder.write("w", "other weights");
    const auto grown = open(path);
    CHECK(grown != source);
    CHECK(as_text(grown->bytes()) == "other weights");
    // The same size, a nanosecond later.
    touch(path, 1);
    const auto touched = open(path);
    CHECK(touched != grown);
    CHECK(open(path) == touched);
    touch(path, 2);
    CHECK(open(path) != touched);
    // Replaced by another file of the same size and time.
    folder.write("new", "other weights");
    touch(folder / "new", 1);
    std::filesystem::rename(folder / "new", path);
    CHECK(open(path) != touched);
}

TEST_CASE("shared_source: files that are read are shared, too") {
    const TemporaryFolder folder;
    const std::string path = folder.write("w", "weights");
    const std::size_t descriptors = open_descriptors();
    {
        const auto source = open(path, source::IoMode::read);
        CHECK(open(path, source::IoMode::read) == source);
        CHECK(open_descriptors() == descriptors + 1);
        Bytes out(4);
        source->read(3, out);
        CHECK(out == from_text("ghts"));
    }
    CHECK(open_descriptors() == descriptors);
}

}  // namespace onnxmap::test
