#include "save/neighbours.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "sample_models.hpp"
#include "save/model_files.hpp"
#include "save/paths.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

Bytes user_of(std::string_view location) {
    return model(join(blob(2, "g"), blob(5, external_tensor("e", location, 0, 2))));
}

// No text can be read.
save::Callbacks no_text_reader() {
    save::Callbacks made;
    made.is_printable = [](std::string_view) { return true; };
    made.locations_in_text = [](const std::string&) -> std::optional<std::vector<std::string>> {
        throw Error("model.text", "there is no reader of texts");
    };
    return made;
}

// As the path of a user, or "nobody".
std::string name_of(const std::string* path) {
    return path == nullptr ? "nobody" : std::filesystem::path(*path).filename().string();
}

}  // namespace

TEST_CASE("neighbours: who uses a data file") {
    const TemporaryFolder folder;
    const std::string data = folder.write("a/b/w.data", "1234");
    folder.write("a/b/near", ByteView(user_of("w.data")));
    const std::string here = std::filesystem::path(data).parent_path().string();
    const auto user = [&](const std::vector<std::string>& but = {}) {
        return name_of(save::find_neighbours({here}, but, {}, no_text_reader()).user_of(data));
    };
    CHECK(user() == "near");
    CHECK(user({here + "/near"}) == "nobody");
    folder.write("above.onnx", ByteView(user_of("a/b/w.data")));
    CHECK(user({here + "/near"}) == "above.onnx");
    std::filesystem::create_symlink("near", here + "/link.onnx");
    std::filesystem::remove(folder / "above.onnx");
    CHECK(user({here + "/near"}) == "nobody");  // a link to what does not count
    const auto found = save::find_neighbours({here}, {}, {}, no_text_reader());
    CHECK(name_of(found.owner_of(here + "/near")) == "link.onnx");
    CHECK(found.unreadable.empty());
    CHECK(!found.is_free(data));
}

TEST_CASE("neighbours: a new file with the inode of one that is gone") {
    const TemporaryFolder folder;
    const std::string model = folder.write("m.onnx", ByteView(user_of("w.data")));
    const auto replacement_of = [&](const std::string& path) {
        std::filesystem::remove(path);
        return folder.write(std::filesystem::path(path).filename().string() + ".new", "1234");
    };
    const auto search = [&] {
        return save::find_neighbours({folder.path()}, {}, {}, no_text_reader());
    };
    const std::string data = folder.write("w.data", "1234");
    const auto before = search();
    CHECK(name_of(before.user_of(data)) == "m.onnx");
    CHECK(name_of(before.owner_of(model)) == "m.onnx");
    CHECK(name_of(before.owner_of(replacement_of(model))) == "nobody");
    if (!save::object_at(data, os::AtLink::its_target)->identity.born_ns) return;  // not told
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // times of birth are coarse
    CHECK(name_of(before.user_of(replacement_of(data))) == "nobody");
}

TEST_CASE("neighbours: a model with two names, of which one is gone") {
    const TemporaryFolder folder;
    const std::string first = folder.write("a.onnx", ByteView(user_of("w.data")));
    std::filesystem::create_hard_link(first, folder / "b.onnx");
    const auto found = save::find_neighbours({folder.path()}, {}, {}, no_text_reader());
    std::filesystem::remove(first);
    CHECK(name_of(found.owner_of(folder.path().string() + "/b.onnx")) == "b.onnx");
}

TEST_CASE("neighbours: a model that cannot be read may use what is older") {
    const TemporaryFolder folder;
    const std::string side = folder.write("side", "1");
    const std::filesystem::file_time_type now = std::filesystem::last_write_time(side);
    folder.write("broken.onnx", "\xff");
    const auto found = save::find_neighbours({folder.path().string()}, {}, {}, no_text_reader());
    CHECK(name_of(&found.unreadable) == "broken.onnx");
    CHECK(!found.is_free(side));
    std::filesystem::last_write_time(side, now + std::chrono::hours(1));
    CHECK(found.is_free(side));
}

TEST_CASE("neighbours: files that may be models") {
    const TemporaryFolder folder;
    const auto names = [&] {
        return save::names_of_models(folder.path().string(), true, no_text_reader());
    };
    const Bytes late = blob(2, "producer");  // before ir_version
    folder.write("binary", ByteView(user_of("w")));
    folder.write("late", ByteView(join(late, user_of("w"))));
    folder.write("onnx text", " <\n ir_version: 8 >");
    folder.write("textproto", "ir_version: 8 graph {}");
    folder.write("named.ONNX", "anything");
    folder.write("late without data", ByteView(join(late, tiny_model())));
    folder.write("other text", "<ir_versions>");
    folder.write("weights", std::string(100, '\x08'));
    folder.write(".x.onnxmap-tmp", ByteView(user_of("w")));
    std::filesystem::create_symlink("nowhere", folder / "gone");
    std::filesystem::create_directory(folder / "sub");
    CHECK(names() ==
          std::vector<std::string>{"binary", "late", "named.ONNX", "onnx text", "textproto"});
    CHECK(save::names_of_models(folder.path().string(), false, no_text_reader()) ==
          std::vector<std::string>{"named.ONNX"});
    CHECK(save::is_likely_model(folder / "binary"));
    CHECK(!save::is_likely_model(folder / "weights"));
}

TEST_CASE("neighbours: a text is read only if it names external data") {
    const TemporaryFolder folder;
    save::Callbacks reader = no_text_reader();
    reader.locations_in_text = [](const std::string&) {
        return std::optional(std::vector<std::string>{"w", "/absolute"});
    };
    const std::string plain = folder.write("plain", "ir_version: 8 graph {}");
    CHECK(save::external_paths(plain, no_text_reader()).empty());
    constexpr std::size_t kMiB = 1 << 20;
    for (const std::size_t before : {std::size_t{0}, kMiB, kMiB - 22}) {
        const std::string text =
            "ir_version: 8 #" + std::string(before, 'x') + "\nexternal_data {}";
        const std::string path = folder.write("text", text);
        CHECK(save::external_paths(path, reader) ==
              std::vector<std::string>{folder / "w", "/absolute"});
    }
}

}  // namespace onnxmap::test
