#include "os/new_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "caught.hpp"
#include "numbered.hpp"
#include "os/descriptor_pool.hpp"
#include "os/folder.hpp"
#include "os/output_folder.hpp"
#include "os/parallel.hpp"
#include "plain_os.hpp"
#include "sanitized.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const os::OutputFolder> opened(const TemporaryFolder& folder) {
    return std::make_shared<const os::OutputFolder>(folder.path().string(), folder / "f");
}

os::NewFile new_file(const TemporaryFolder& folder) {
    return {opened(folder), "f", folder / "f", std::nullopt};
}

template <class Call>
int number_of(Call&& call) {
    return errno_of([&] {
        call();
        return 0;
    });
}

}  // namespace

TEST_CASE("new_file: has its name only when it is complete") {
    const TemporaryFolder folder;
    folder.write("f", "old");
    {
        os::NewFile file = new_file(folder);
        file.write(as_bytes("new "));
        file.write({});
        file.write(as_bytes("file"));
        CHECK(text_of(folder / "f") == "old");
        CHECK(texts_in(folder.path()).size() == 2);
        file.finish(true);
        CHECK(text_of(folder / "f") == "old");
        file.replace();
        CHECK(texts_in(folder.path()) == Texts{{"f", "new file"}});
    }
    CHECK(texts_in(folder.path()) == Texts{{"f", "new file"}});
}

TEST_CASE("new_file: one that does not get its name is removed") {
    const TemporaryFolder folder;
    const std::size_t descriptors = open_descriptors();
    { const os::NewFile file = new_file(folder); }
    {
        os::NewFile file = new_file(folder);
        file.write(as_bytes("x"));
        file.finish(false);
    }
    CHECK(texts_in(folder.path()).empty());
    CHECK(open_descriptors() == descriptors);
}

TEST_CASE("new_file: a taken name is kept, however the system renames") {
    for (const int number : {0, EINVAL, ENOSYS, EPERM}) {
        for (const int of_link : {0, EPERM, ENOTSUP, EMLINK}) {
            CAPTURE(number);
            CAPTURE(of_link);
            const TemporaryFolder folder;
            WritePlan plan;
            if (number != 0) plan.never[Write::rename_to_new] = number;
            if (of_link != 0) plan.never[Write::link] = of_link;
            const WatchedWrites watched(plan);
            {
                os::NewFile file = new_file(folder);
                file.write(as_bytes("first"));
                file.finish(false);
                file.take_new_name();
            }
            CHECK(texts_in(folder.path()) == Texts{{"f", "first"}});
            CHECK(fs::hard_link_count(folder / "f") == 1);
            {
                os::NewFile file = new_file(folder);
                file.finish(false);
                CHECK(number_of([&] { file.take_new_name(); }) == EEXIST);
            }
            CHECK(texts_in(folder.path()) == Texts{{"f", "first"}});
        }
    }
}

TEST_CASE("new_file: no second name is left if the first cannot be removed") {
    const TemporaryFolder folder;
    {
        // 0: the folder; 1: the file; 2: closed; 3: rename_to_new; 4: link; 5: remove.
        const WatchedWrites watched(
            {.fails_at = 5, .number = EACCES, .never = {{Write::rename_to_new, ENOSYS}}});
        os::NewFile file = new_file(folder);
        file.finish(false);
        CHECK(number_of([&] { file.take_new_name(); }) == EACCES);
        CHECK(watched.records()[5].call == Write::remove);
    }
    CHECK(texts_in(folder.path()).empty());
}

TEST_CASE("new_file: zeros that are skipped take no room, also at the end") {
    const TemporaryFolder folder;
    constexpr std::uint64_t kHole = 4 << 20;
    {
        os::NewFile file = new_file(folder);
        CHECK(file.skip(0));
        file.write(as_bytes("begin"));
        CHECK(file.skip(kHole));
        file.write(as_bytes("middle"));
        CHECK(file.skip(1));
        CHECK(file.skip(kHole));
        CHECK_FALSE(file.skip(std::uint64_t{1} << 63));  // no offset can be so large
        file.finish(false);
        file.replace();
    }
    const std::string text = text_of(folder / "f");
    REQUIRE(text.size() == 5 + kHole + 6 + 1 + kHole);
    CHECK(text.substr(0, 5) == "begin");
    CHECK(text.substr(5 + kHole, 6) == "middle");
    CHECK(std::count(text.begin(), text.end(), '\0') == 2 * kHole + 1);
    struct stat status{};
    REQUIRE(::stat((folder / "f").c_str(), &status) == 0);
    CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 < kHole);
}

TEST_CASE("new_file: copies from another file, in the kernel") {
    ONNXMAP_NEEDS_LINUX("copy_file_range");
    const TemporaryFolder folder;
    const os::File source = os::File::open(folder.write("source", "0123456789"));
    os::NewFile file = new_file(folder);
    file.write(as_bytes("<"));
    CHECK(file.copy(source, 1, 4) == 4);
    file.write(as_bytes(">"));
    CHECK(file.copy(source, 6, 100) == 4);
    CHECK(file.copy(source, 10, 1) == 0);
    file.finish(false);
    file.replace();
    CHECK(text_of(folder / "f") == "<1234>6789");
}

namespace {

// Copies bytes to another place of their page, between a word and a word. They are read and written
// in pieces, the last of which is short.
std::string moved_copy(const TemporaryFolder& folder, const os::File& source, std::uint64_t count,
                       bool& copied) {
    os::NewFile file = new_file(folder);
    file.write(as_bytes("begin"));
    const std::uint64_t result = file.copy(source, 3, count);
    CHECK((result == count || result == 0));
    copied = result == count;
    file.write(as_bytes("end"));
    file.finish(false);
    file.replace();
    return text_of(folder / "f");
}

constexpr std::uint64_t kMoved = 9'000'001;

}  // namespace

TEST_CASE("new_file: bytes that move within their page are copied by any number of threads") {
    const TemporaryFolder folder;
    const std::string text = numbered(kMoved + 3);
    const os::File source = os::File::open(folder.write("source", text));
    for (const unsigned threads : {0U, 1U, 8U}) {
        if (kSanitized && threads != 8) continue;
        for (const std::size_t most_at_once : {std::size_t{700'000}, SIZE_MAX}) {
            const os::WithThreadBudget budget({.threads = threads});
            const WatchedWrites watched({.most_at_once = most_at_once});
            bool copied = false;
            const std::string made = moved_copy(folder, source, kMoved, copied);
            CHECK(copied);
            CHECK(watched.count(Write::copy) == 0);
            CHECK((made == "begin" + text.substr(3) + "end"));
        }
    }
}

TEST_CASE("new_file: if a piece cannot be copied, the file goes on where it was") {
    const TemporaryFolder folder;
    const os::File source = os::File::open(folder.write("source", numbered(kMoved)));
    bool copied = true;
    static_cast<void>(moved_copy(folder, source, kMoved, copied));  // three bytes too many
    CHECK_FALSE(copied);
    for (const std::size_t call : {3U, 4U, 20U, 36U}) {
        if (kSanitized && (call == 4 || call == 20)) continue;
        const WatchedWrites watched({.fails_at = call, .number = ENOSPC});
        const std::string made = moved_copy(folder, source, kMoved - 3, copied);
        CHECK(watched.records()[call].call == Write::write_at);
        CHECK_FALSE(copied);
        CHECK(made.substr(0, 8) == "beginend");
    }
}

TEST_CASE("new_file: a copy that is not wanted any longer ends") {
    const TemporaryFolder folder;
    const os::File source = os::File::open(folder.write("source", numbered(kMoved)));
    const std::atomic<bool> stopped = true;
    const os::WithThreadBudget budget({.stopped = &stopped});
    bool copied = false;
    CHECK_THROWS_AS(moved_copy(folder, source, kMoved - 3, copied), os::Stopped);
    CHECK(texts_in(folder.path()).size() == 1);
}

TEST_CASE("new_file: a copy that the system cannot make writes nothing") {
    const TemporaryFolder folder;
    const os::File source = os::File::open(folder.write("source", "0123456789"));
    const WatchedWrites watched({.never = {{Write::copy, EXDEV}}});
    os::NewFile file = new_file(folder);
    CHECK(file.copy(source, 0, 10) == 0);
    file.finish(false);
    file.replace();
    CHECK(text_of(folder / "f").empty());
}

TEST_CASE("new_file: errors name the file that is to be") {
    const TemporaryFolder folder;
    for (std::size_t call = 1; call < 6; ++call) {
        const WatchedWrites watched({.fails_at = call, .number = ENOSPC});
        const auto save = [&] {
            os::NewFile file = new_file(folder);
            file.write(as_bytes("x"));
            file.finish(true);
            file.replace();
        };
        try {
            save();
            FAIL("no error");
        } catch (const FileError& error) {
            CHECK(error.number == ENOSPC);
            CHECK(error.path == folder / "f");
        }
        CHECK(texts_in(folder.path()).empty());
    }
}

TEST_CASE("new_file: kept descriptors are closed if none is left") {
    for (const int number : {EMFILE, ENFILE}) {
        const TemporaryFolder folder;
        const os::Folder held(folder.path().string());
        const std::weak_ptr<const os::Descriptor> kept = held.open();
        // 0: the folder; 1: the file.
        const WatchedWrites watched({.fails_at = 1, .number = number});
        os::NewFile file = new_file(folder);
        CHECK(watched.count(Write::open) == 3);
        CHECK(kept.expired());
        file.finish(false);
        file.replace();
        CHECK(texts_in(folder.path()) == Texts{{"f", ""}});
    }
}

TEST_CASE("output_folder: names beside a name are unique, short and end as asked") {
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) {
        const std::string name = os::unique_name("model.onnx", ".end");
        CHECK(name.starts_with("model.onnx."));
        CHECK(name.ends_with(".end"));
        CHECK(name.size() == 10 + 1 + 8 + 4);
        names.insert(name);
    }
    CHECK(names.size() == 100);
    const auto cut = [](const std::string& name) {
        const std::string unique = os::unique_name(name, "");
        return unique.substr(0, unique.size() - 9);
    };
    CHECK(cut(std::string(100, 'x')) == std::string(100, 'x'));
    CHECK(cut(std::string(101, 'x')) == std::string(100, 'x'));
    // Characters of two, three and four bytes.
    for (const std::string_view character : {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
        for (std::size_t before = 0; before < 5; ++before) {
            std::string name(before, 'x');
            while (name.size() < 200) name += character;
            const std::string begin = cut(name);
            CHECK(begin.size() > 96);
            CHECK(begin.size() <= 100);
            CHECK((begin.size() - before) % character.size() == 0);
        }
    }
    // Bytes that are not UTF-8.
    CHECK(cut(std::string(200, '\x80')).size() == 97);
}

}  // namespace onnxmap::test
