#include "save/name_changes.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// What a save does before it fails: the old file under "m" goes aside, and the new one is put.
class Changing {
  public:
    Changing() = default;

    void set_old() { folder.write("m", "old"); }

    void put() {
        place =
            save::Destinations(false, false, false).find(folder / "m", save::AtOutputLink::replace);
        file = std::make_unique<os::NewFile>(place.folder, place.name, place.path, std::nullopt);
        file->write(as_bytes("new"));
        file->finish(false);
        if (keeps) changes.set_aside(place, save::NameChanges::Aside::linked);
        if (moves) changes.set_aside(place, save::NameChanges::Aside::moved);
        changes.put(place, *file, true);
    }

    // Another process writes such a file and renames it to "m".
    void replace_by_theirs() const { fs::rename(folder.write("x", "theirs"), folder / "m"); }

    [[nodiscard]] std::string code_of_undo() {
        return code_of([&] {
            changes.undo("a failure");
            return 0;
        });
    }

    TemporaryFolder folder;
    bool keeps = false;
    bool moves = false;
    save::Destination place;
    std::unique_ptr<os::NewFile> file;
    save::NameChanges changes;
};

}  // namespace

TEST_CASE("name_changes: a new file is removed again, and the file of another process is not") {
    for (const bool theirs : {false, true}) {
        Changing changing;
        changing.put();
        if (theirs) changing.replace_by_theirs();
        CHECK(changing.code_of_undo() == "accepted");
        CHECK(texts_in(changing.folder.path()) == (theirs ? Texts{{"m", "theirs"}} : Texts{}));
    }
}

TEST_CASE("name_changes: an old file that is aside does not replace that of another process") {
    for (const bool keeps : {false, true}) {
        CAPTURE(keeps);
        Changing changing;
        changing.keeps = keeps;
        changing.moves = !keeps;
        changing.set_old();
        changing.put();
        changing.replace_by_theirs();
        CHECK(changing.code_of_undo() == "save.not_restored");
        Texts texts = texts_in(changing.folder.path());
        CHECK(texts.at("m") == "theirs");
        REQUIRE(texts.size() == 2);
        texts.erase("m");
        CHECK(texts.begin()->first.ends_with(".onnxmap-old"));
        CHECK(texts.begin()->second == "old");
    }
}

TEST_CASE("name_changes: a name that is gone gets its old file again") {
    for (const bool keeps : {false, true}) {
        Changing changing;
        changing.keeps = keeps;
        changing.moves = !keeps;
        changing.set_old();
        changing.put();
        fs::remove(changing.folder / "m");
        CHECK(changing.code_of_undo() == "accepted");
        CHECK(texts_in(changing.folder.path()) == Texts{{"m", "old"}});
    }
}

TEST_CASE("name_changes: a file with a second name is put back without a moment without one") {
    Changing changing;
    changing.keeps = true;
    changing.set_old();
    changing.put();
    std::vector<bool> there;
    {
        const WatchedWrites watched(
            {.before = [&](std::size_t) { there.push_back(fs::exists(changing.folder / "m")); }});
        CHECK(changing.code_of_undo() == "accepted");
        CHECK(watched.count(Write::rename) == 1);
    }
    CHECK(there == std::vector<bool>(there.size(), true));
    CHECK(texts_in(changing.folder.path()) == Texts{{"m", "old"}});
}

}  // namespace onnxmap::test
