#include "os/pooled_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "caught.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// A path, and how often it was opened and checked.
struct CountedWay final : os::FileLocator {
    explicit CountedWay(std::string path) : by_path(os::path_locator(std::move(path))) {}

    [[nodiscard]] std::optional<os::File> open(const os::FileIdentity& file) const override {
        ++opened;
        return by_path->open(file);
    }
    [[nodiscard]] os::FileIdentity identify() const override {
        ++looked;
        return by_path->identify();
    }

    std::shared_ptr<const os::FileLocator> by_path;
    mutable int opened = 0;
    mutable int looked = 0;
};

// A way to the file that always fails with this error.
template <class Failure>
struct ClosedWay final : os::FileLocator {
    explicit ClosedWay(Failure failure_) : failure(std::move(failure_)) {}

    [[nodiscard]] std::optional<os::File> open(const os::FileIdentity&) const override {
        throw failure;
    }
    [[nodiscard]] os::FileIdentity identify() const override { throw failure; }

    Failure failure;
};

// A held file of ten bytes. `path` can be deleted, or given to another file.
class Held {
  public:
    Held() = default;

    [[nodiscard]] std::string code() const {
        return code_of([&] {
            file.check_unchanged();
            return 0;
        });
    }
    [[nodiscard]] std::string open_code() const {
        return code_of([&] { return file.open(); });
    }
    [[nodiscard]] std::string text() const {
        Bytes out(10);
        file.open()->read(0, out);
        return std::string(as_text(out));
    }
    void replace(std::string_view by) const {
        folder.write("new", by);
        fs::rename(folder / "new", path);
    }

    TemporaryFolder folder;
    std::string path = folder.write("f", "0123456789");
    std::shared_ptr<CountedWay> locator = std::make_shared<CountedWay>(path);
    os::PooledFile file{os::File::open(path), locator};
};

// Each case runs with the file's descriptor open, and with the descriptor closed.
void evict_if(bool evicted) {
    if (evicted) os::close_held();
}

}  // namespace

TEST_CASE("pooled_file: a closed file is opened again by name") {
    const Held held;
    CHECK(held.file.identity().size == 10);
    const auto first = held.file.open();
    CHECK(first->path() == held.path);
    CHECK(held.file.open() == first);
    CHECK(held.text() == "0123456789");
    CHECK(held.locator->opened == 0);
    os::close_held();
    const auto second = held.file.open();
    CHECK(second != first);
    CHECK(held.file.open() == second);
    CHECK(held.text() == "0123456789");
    CHECK(held.locator->opened == 1);
    CHECK(held.code() == "accepted");
    CHECK(held.locator->looked == 0);
    os::close_held();
    CHECK(held.code() == "accepted");
    // The name was checked, but the file was not opened.
    CHECK(held.locator->looked == 1);
    CHECK(held.locator->opened == 1);
    CHECK(held.text() == "0123456789");
    CHECK(held.locator->opened == 2);
}

TEST_CASE("pooled_file: a rename away and back, a link or another mode is not a change") {
    for (const bool evicted : {false, true}) {
        CAPTURE(evicted);
        const Held held;
        fs::create_hard_link(held.path, held.folder / "link");
        REQUIRE(::chmod(held.path.c_str(), 0444) == 0);
        evict_if(evicted);
        CHECK(held.code() == "accepted");
        fs::rename(held.path, held.folder / "away");
        evict_if(evicted);
        CHECK(held.code() == "accepted");
        fs::rename(held.folder / "away", held.path);
        evict_if(evicted);
        CHECK(held.code() == "accepted");
        CHECK(held.text() == "0123456789");
    }
}

TEST_CASE("pooled_file: a replaced file stays readable if it is open") {
    for (const char* by : {"9876543210", "shorter", "longer than it was"}) {
        const Held held;
        held.replace(by);
        CHECK(held.code() == "accepted");
        CHECK(held.text() == "0123456789");
        os::close_held();
        // Nobody can tell what became of the file. Another file has its name now, and is refused.
        CHECK(held.code() == "accepted");
        const auto error = error_of([&] { return held.file.open(); });
        REQUIRE(error);
        CHECK(error->code == "file.changed");
        CHECK(error->file == held.path);
        CHECK(std::string(error->what()).find("replaced by another file") != std::string::npos);
        CHECK(code_of([&] { return held.text(); }) == "file.changed");
        CHECK(held.code() == "accepted");
    }
}

TEST_CASE("pooled_file: a deleted file stays readable if it is open") {
    const Held held;
    fs::remove(held.path);
    CHECK(held.code() == "accepted");
    CHECK(held.text() == "0123456789");
    os::close_held();
    CHECK(held.code() == "accepted");
    CHECK(held.open_code() == "file.changed");
    CHECK(code_of([&] { return held.text(); }) == "file.changed");
    // A new file has the name. It is another file, unless the system gave it the old number.
    const os::File other = os::File::open(held.folder.write("f", "0123456789"));
    if (!other.identity().same_file(held.file.identity())) {
        CHECK(held.code() == "accepted");
        CHECK(held.open_code() == "file.changed");
    }
}

TEST_CASE("pooled_file: a file that was written to has changed, and the error says how") {
    for (const bool evicted : {false, true}) {
        CAPTURE(evicted);
        const Held held;
        fs::resize_file(held.path, 4);
        evict_if(evicted);
        const auto cut = error_of([&] {
            held.file.check_unchanged();
            return 0;
        });
        REQUIRE(cut);
        CHECK(cut->code == "file.changed");
        CHECK(cut->file == held.path);
        const std::string text = cut->what();
        CHECK(text.find(held.path) != std::string::npos);
        CHECK(text.find("had 10 bytes") != std::string::npos);
        CHECK(text.find("has 4 now") != std::string::npos);
        // It is still the same file, so it can be opened, and the rest of its bytes can be read.
        CHECK(held.open_code() == "accepted");
        Bytes out(4);
        held.file.open()->read(0, out);
        CHECK(as_text(out) == "0123");
        CHECK(code_of([&] { return held.text(); }) == "file.changed");

        held.folder.write("f", "longer than it was");
        evict_if(evicted);
        CHECK(held.code() == "file.changed");
        held.folder.write("f", "9876543210");
        evict_if(evicted);
        // On a coarse clock the time of modification could be the same.
        const timespec times[] = {{0, UTIME_OMIT}, {1'000'000'000, 1}};
        REQUIRE(::utimensat(AT_FDCWD, held.path.c_str(), times, 0) == 0);
        CHECK(held.code() == "file.changed");
        // The old time again, to the nanosecond.
        const std::int64_t modified = held.file.identity().modified_ns;
        const timespec back[] = {{0, UTIME_OMIT},
                                 {modified / 1'000'000'000, modified % 1'000'000'000}};
        REQUIRE(::utimensat(AT_FDCWD, held.path.c_str(), back, 0) == 0);
        evict_if(evicted);
        CHECK(held.code() == "accepted");
    }
}

TEST_CASE("pooled_file: own appends are not a change, and a write by another process is") {
    for (const bool evicted : {false, true}) {
        CAPTURE(evicted);
        const Held held;
        const auto grow_to = [&](std::uint64_t size, bool by_us = true) {
            const os::FileIdentity before = os::File::open(held.path).identity();
            fs::resize_file(held.path, size);
            if (by_us) os::record_append(before, os::File::open(held.path).identity());
            evict_if(evicted);
        };
        const os::PooledFile other{os::File::open(held.folder.write("other", "")),
                                   os::path_locator(held.folder / "other")};
        const auto code_of_file = [](const os::PooledFile& file) {
            return code_of([&] {
                file.check_unchanged();
                return 0;
            });
        };
        grow_to(11);
        CHECK(held.code() == "accepted");
        CHECK(held.file.identity().size == 10);
        const os::PooledFile later{os::File::open(held.path), held.locator};
        grow_to(12);
        grow_to(13);
        CHECK(held.code() == "accepted");
        CHECK(held.text() == "0123456789");
        CHECK(code_of_file(later) == "accepted");
        CHECK(code_of_file(other) == "accepted");
        grow_to(14, false);
        CHECK(held.code() == "file.changed");
        grow_to(15);  // of a state that neither had
        CHECK(held.code() == "file.changed");
        CHECK(code_of_file(later) == "file.changed");
        const os::PooledFile newest{os::File::open(held.path), held.locator};
        grow_to(16);
        CHECK(code_of_file(newest) == "accepted");
        CHECK(code_of_file(later) == "file.changed");
    }
}

TEST_CASE("pooled_file: an own append to a file that got its first state again is not a change") {
    const Held held;
    const os::FileIdentity first = held.file.identity();
    os::FileIdentity second = first;
    ++second.size;
    fs::resize_file(held.path, 12);
    os::record_append(first, second);
    CHECK(held.code() == "file.changed");
    os::record_append(first, os::File::open(held.path).identity());
    CHECK(held.code() == "accepted");
}

TEST_CASE("pooled_file: a file that is written to after it lost its name has changed") {
    const Held held;
    const int own = ::open(held.path.c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(own >= 0);
    held.replace("9876543210");
    CHECK(held.code() == "accepted");
    REQUIRE(::ftruncate(own, 3) == 0);
    ::close(own);
    CHECK(held.code() == "file.changed");
    os::close_held();
    CHECK(held.code() == "accepted");
}

TEST_CASE("pooled_file: opened again by any way that still leads to it") {
    Held held;
    fs::create_hard_link(held.path, held.folder / "other");
    held.folder.write("impostor", "9876543210");
    const auto other = std::make_shared<CountedWay>(held.folder / "other");
    held.file.add_locator(other);
    held.file.add_locator(os::path_locator(held.folder / "impostor"));
    held.file.add_locator(os::path_locator(held.folder / "missing"));
    held.file.add_locator(
        std::make_shared<ClosedWay<std::runtime_error>>(std::runtime_error("leads outside")));
    held.file.add_locator(std::make_shared<ClosedWay<Error>>(Error("file.changed", "the folder")));
    fs::remove(held.path);
    os::close_held();
    CHECK(held.text() == "0123456789");
    CHECK(other->opened == 1);
    os::close_held();
    CHECK(held.code() == "accepted");
    fs::resize_file(held.folder / "other", 3);
    CHECK(held.code() == "file.changed");
    fs::remove(held.folder / "other");
    os::close_held();
    CHECK(held.code() == "accepted");
    CHECK(held.open_code() == "file.changed");
}

TEST_CASE("pooled_file: old ways are forgotten, but not the newest ones") {
    Held held;
    for (int i = 0; i < 50; ++i) held.file.add_locator(os::path_locator(held.folder / "missing"));
    const auto last = std::make_shared<CountedWay>(held.path);
    held.file.add_locator(last);
    for (int i = 0; i < 3; ++i) held.file.add_locator(os::path_locator(held.folder / "missing"));
    os::close_held();
    CHECK(held.text() == "0123456789");
    CHECK(last->opened == 1);
    CHECK(held.locator->opened == 0);
}

TEST_CASE("pooled_file: if no descriptor is left, the check is an error") {
    for (const int number : {EMFILE, ENFILE, ENOMEM, EACCES}) {
        CAPTURE(number);
        const TemporaryFolder folder;
        const std::string path = folder.write("f", "0123456789");
        const os::PooledFile file(os::File::open(path),
                                  std::make_shared<ClosedWay<FileError>>(FileError(number, path)));
        os::close_held();
        const auto check = [&] {
            file.check_unchanged();
            return 0;
        };
        if (number == EACCES) {
            CHECK(code_of(check) == "accepted");
            CHECK(code_of([&] { return file.open(); }) == "file.changed");
        } else {
            CHECK(errno_of(check) == number);
            CHECK(errno_of([&] { return file.open(); }) == number);
        }
    }
}

}  // namespace onnxmap::test
