#include "tensor/external_data.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "external_folder.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

Bytes entries(const std::vector<Pair>& pairs) {
    Bytes bytes;
    for (const auto& [key, value] : pairs) append(bytes, blob(13, string_entry(key, value)));
    return bytes;
}

// The entry has views of `bytes`.
tensor::ExternalEntry read(const Bytes& bytes, std::uint64_t most = 64) {
    return tensor::read_external_entry(onnx::Message(onnx::message<"TensorProto">, bytes), "t",
                                       most);
}

std::string entry_code(const std::vector<Pair>& pairs) {
    return code_of([&] { return read(entries(pairs)).offset; });
}

}  // namespace

TEST_CASE("external_data: a location with offset and length") {
    const Bytes all = entries({{"location", "w.bin"},
                               {"offset", "4096"},
                               {"length", "16"},
                               {"checksum", "abc"},
                               {"basepath", "ignored"}});
    const auto entry = read(all);
    CHECK(entry.location == "w.bin");
    CHECK(entry.offset == 4096);
    CHECK(entry.length == 16);
    CHECK(entry.checksum == "abc");

    const Bytes alone = entries({{"location", "w.bin"}});
    CHECK(read(alone).offset == 0);
    CHECK_FALSE(read(alone).length);
    CHECK_FALSE(read(alone).checksum);

    const Bytes zero = entries({{"length", "0"}, {"location", "w.bin"}, {"offset", "007"}});
    CHECK_FALSE(read(zero).length);  // as in other readers
    CHECK(read(zero).offset == 7);
}

TEST_CASE("external_data: if a key is twice in one entry, the last one counts") {
    const Bytes bytes = join(blob(13, join(blob(1, "offset"), blob(1, "location"), blob(2, "v"))));
    CHECK(read(bytes).location == "v");
}

TEST_CASE("external_data: only decimal digits are a number") {
    for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x10", "1e3", "1.0", "1_000", "\xd9\xa1",
                             "000000000000000000001"}) {
        CAPTURE(text);
        CHECK(entry_code({{"location", "w"}, {"offset", text}}) == "ext.offset");
        CHECK(entry_code({{"location", "w"}, {"length", text}}) == "ext.length");
    }
    CHECK(entry_code({{"location", "w"}, {"offset", {"1\0", 2}}}) == "ext.offset");
    const Bytes most = entries({{"location", "w"}, {"offset", "18446744073709551615"}});
    CHECK(read(most).offset == UINT64_MAX);
    CHECK(entry_code({{"location", "w"}, {"offset", "18446744073709551616"}}) == "ext.bounds");
    CHECK(entry_code({{"location", "w"}, {"length", "99999999999999999999"}}) == "ext.bounds");
}

TEST_CASE("external_data: missing and repeated keys are refused") {
    CHECK(entry_code({}) == "ext.location");
    CHECK(entry_code({{"offset", "1"}}) == "ext.location");
    for (const char* key : {"location", "offset", "length", "checksum"}) {
        CHECK(entry_code({{"location", "w"}, {key, "1"}, {key, "1"}}) == "ext.duplicate_key");
    }
    CHECK(entry_code({{"location", "w"}, {"other", "1"}, {"other", "2"}}) == "accepted");
    const auto error =
        error_of([&] { return read(entries({{"location", "good"}, {"location", "bad"}})).offset; });
    REQUIRE(error);
    CHECK(error->tensor == "t");
    CHECK(error->location == "good");
}

TEST_CASE("external_data: more entries than the limit are refused") {
    Bytes bytes = entries({{"location", "w"}});
    for (int i = 0; i < 3; ++i) append(bytes, entries({{"other", "1"}}));
    CHECK(read(bytes, 4).location == "w");
    CHECK(code_of([&] { return read(bytes, 3).offset; }) == "limit.external_entries");
}

TEST_CASE("external_data: the text of a location is checked first") {
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    folder.write("sub/w.bin", "below");
    folder.write("a..b", "dots");
    const tensor::ExternalFiles files(external_folder(folder.path().string()));
    const auto code = [&](std::string_view location) {
        return code_of([&] { return files.open(location, "t"); });
    };
    for (const char* location :
         {"../w.bin", "..", "a/../../w.bin", "/etc/passwd", "\\x", "C:\\x", "C:x", "c:x",
          "\\\\server\\share", "..\\x", "a\\..\\..\\x", "*/_ORT_MEM_ADDR_/*"}) {
        CAPTURE(location);
        CHECK(code(location) == "ext.unsafe_path");
    }
    CHECK(code(std::string_view("w.bin\0evil", 10)) == "ext.unsafe_path");
    for (const char* location : {"", ".", "./", "sub/..", "w.bin/", "sub/", "sub"}) {
        CAPTURE(location);
        CHECK(code(location) == "ext.location");
    }
    CHECK(code(std::string(5000, 'n')) == "ext.location");
    CHECK(code("missing.bin") == "ext.missing");
    CHECK(code("w.bin/x") == "ext.missing");
    CHECK(as_text(files.open("w.bin", "t")->bytes()) == "weights");
    CHECK(as_text(files.open("sub/../w.bin", "t")->bytes()) == "weights");
    CHECK(as_text(files.open("./sub/w.bin", "t")->bytes()) == "below");
    CHECK(as_text(files.open("a..b", "t")->bytes()) == "dots");
}

TEST_CASE("external_data: links and pipes are refused by policy") {
    const TemporaryFolder folder;
    folder.write("outside.bin", "secret");
    folder.write("model/w.bin", "weights");
    const std::filesystem::path model = folder.path() / "model";
    std::filesystem::create_symlink("../outside.bin", model / "out");
    std::filesystem::create_symlink("w.bin", model / "in");
    std::filesystem::create_symlink("loop", model / "loop");
    REQUIRE(::mkfifo((model / "fifo").c_str(), 0600) == 0);
    const tensor::ExternalFiles files(external_folder(model.string()));
    const auto error = error_of([&] { return files.open("out", "t"); });
    REQUIRE(error);
    CHECK(error->code == "ext.unsafe_path");
    CHECK(error->tensor == "t");
    CHECK(error->location == "out");
    CHECK(as_text(files.open("in", "t")->bytes()) == "weights");
    CHECK(code_of([&] { return files.open("loop", "t"); }) == "ext.missing");
    const auto pipe = error_of([&] { return files.open("fifo", "t"); });
    REQUIRE(pipe);
    CHECK(pipe->code == "ext.not_regular");
    CHECK(pipe->location == "fifo");
}

TEST_CASE("external_data: each file is opened once, and closed with the model") {
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    const std::size_t before = open_descriptors();
    {
        const tensor::ExternalFiles files(external_folder(folder.path().string()));
        const auto first = files.open("w.bin", "a");
        const std::size_t open = open_descriptors();
        CHECK(files.open("w.bin", "b") == first);
        CHECK(open_descriptors() == open);
        // A file that could not be opened is tried again.
        CHECK(code_of([&] { return files.open("late.bin", "a"); }) == "ext.missing");
        folder.write("late.bin", "here");
        CHECK(as_text(files.open("late.bin", "a")->bytes()) == "here");
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("external_data: a model without a folder has no external files") {
    const tensor::ExternalFiles files(external_folder(""));
    CHECK(code_of([&] { return files.open("w.bin", "t"); }) == "ext.no_root");
    CHECK(code_of([&] { return files.open("../w.bin", "t"); }) == "ext.unsafe_path");
    const tensor::ExternalFiles rooted(external_folder("/models/"));
    CHECK_THROWS_AS(static_cast<void>(rooted.path_of("../w.bin", "w")), Error);
    CHECK(rooted.path_of("w.bin", "w") == "/models/w.bin");
    CHECK(tensor::ExternalFiles(external_folder("/models")).path_of("w", "w") == "/models/w");
}

TEST_CASE("external_data: the message says everything needed to find the tensor") {
    const TemporaryFolder folder;
    const std::string model = folder.path().string();
    const tensor::ExternalFiles files(external_folder(model));
    const auto message = [&](std::string_view location) {
        const auto error = error_of([&] { return files.open(location, "the tensor"); });
        REQUIRE(error);
        CHECK(error->tensor == "the tensor");
        CHECK(error->location == location);
        return std::string(error->what());
    };
    const auto has = [](const std::string& text, std::string_view part) {
        return text.find(part) != std::string::npos;
    };
    folder.write("hard", "x");
    std::filesystem::create_hard_link(folder / "hard", folder / "hard2");
    std::filesystem::create_symlink("/etc/passwd", folder / "link");
    for (const auto& [location, words] :
         {std::pair("../x", "outside the model directory"), std::pair("/x", "absolute"),
          std::pair("aux", "reserved name"), std::pair("link", "symlink"),
          std::pair("hard", "hard link")}) {
        CAPTURE(location);
        const std::string text = message(location);
        for (const std::string_view part :
             {std::string_view("the tensor"), std::string_view(location), std::string_view(model),
              std::string_view(words)}) {
            CHECK(has(text, part));
        }
    }
    for (const auto& [location, remedy] :
         {std::pair("hard", "hard_links"), std::pair("link", "trusted"), std::pair("../x", "")}) {
        CHECK(error_of([&] { return files.open(location, "t"); })->remedy == remedy);
    }
    CHECK(has(message("a\nb/../../x"), "a\\x0ab"));
    const std::string text = message("../" + std::string(500, 'n'));
    CHECK(has(text, std::string(197, 'n') + "...'"));
    CHECK_FALSE(has(text, std::string(198, 'n')));
    CHECK(has(message("missing"), folder / "missing"));
    std::filesystem::create_symlink("loop", folder / "loop");
    CHECK(has(message("loop"), "symlink loop"));
    tensor::ExternalFolder external = external_folder(model);
    external.policy.links = contain::LinkPolicy::strict;
    const auto strict =
        error_of([&] { return tensor::ExternalFiles(external).open("link", "the tensor"); });
    REQUIRE(strict);
    CHECK(has(strict->what(), "symlink"));
    CHECK(strict->remedy == "contained");
}

TEST_CASE("external_data: the error for a missing file has the nearest name") {
    const TemporaryFolder folder;
    folder.write("outside.data", "secret");
    folder.write("model/new.onnx.data", "weights");
    folder.write("model/sub/x.data", "below");
    folder.write("model/flat.data", "above");
    const std::filesystem::path model = folder.path() / "model";
    std::filesystem::create_directory(model / "weights.data");
    std::filesystem::create_directory_symlink("..", model / "up");
    tensor::ExternalFolder external = external_folder(model.string());
    external.model_path = model / "new.onnx";
    const auto near = [](const tensor::ExternalFiles& files, std::string_view location) {
        const std::string text = error_of([&] { return files.open(location, "t"); })->what();
        const std::size_t begin = text.find("did you mean '");
        return begin == std::string::npos ? ""
                                          : text.substr(begin + 14, text.find('?') - begin - 15);
    };
    for (const contain::LinkPolicy links :
         {contain::LinkPolicy::contained, contain::LinkPolicy::strict,
          contain::LinkPolicy::trusted}) {
        external.policy.links = links;
        const tensor::ExternalFiles files(external);
        for (const auto& [location, name] :
             {std::pair("llama.onnx.data", "new.onnx.data"), std::pair("sub/X.data", "sub/x.data"),
              std::pair("sub\\x.data", "sub/x.data"), std::pair("gone/flat.data", "flat.data"),
              std::pair("weights.dat", ""), std::pair("../model/x", "")}) {
            CAPTURE(location);
            CHECK(near(files, location) == name);
        }
        // The folder of a link is not listed, whatever the policy.
        CHECK(near(files, "up/Outside.data") == "");
    }
    // A model may have any number of locations.
    const tensor::ExternalFiles files(external);
    for (int i = 0; i < 8; ++i) CHECK(near(files, std::to_string(i) + "lat.data") == "flat.data");
    CHECK(near(files, "8lat.data") == "");
    CHECK(near(files, "7lat.data") == "flat.data");
}

TEST_CASE("external_data: an absolute path into the folder is advised as a relative one") {
    const TemporaryFolder folder;
    folder.write("real/w.bin", "weights");
    std::filesystem::create_directory_symlink("real", folder.path() / "model");
    const tensor::ExternalFiles files(external_folder(folder / "model"));
    const auto advice = [&](const std::string& location) {
        const auto error = error_of([&] { return files.open(location, "t"); });
        REQUIRE(error);
        CHECK(error->code == "ext.unsafe_path");
        const std::string text = error->what();
        return text.substr(text.rfind("; ") + 2);
    };
    CHECK(advice(folder / "model//w.bin") == "write 'w.bin' in the model");
    CHECK(advice(folder / "real/sub/w.bin") == "write 'sub/w.bin' in the model");
    for (const char* other : {"model", "model/", "model2/w.bin", "model/../w.bin", "model/con"}) {
        CHECK(advice(folder / other) == "a location is relative to the model directory");
    }
    CHECK(advice("C:\\w.bin") == "a location is relative to the model directory");
}

TEST_CASE("external_data: files are looked up in the folder of the time of loading") {
    const TemporaryFolder folder;
    folder.write("model/w.bin", "weights");
    folder.write("model/v.bin", "others");
    const std::string model = folder / "model";
    const tensor::ExternalFiles files(external_folder(model));
    std::filesystem::rename(model, folder / "moved");
    folder.write("model/w.bin", "planted");
    CHECK(as_text(files.open("w.bin", "t")->bytes()) == "weights");
    // A folder that is made after loading is not the caller's folder.
    const tensor::ExternalFiles late(external_folder(folder / "late"));
    CHECK(code_of([&] { return late.open("w.bin", "t"); }) == "ext.missing");
    folder.write("late/w.bin", "late");
    CHECK(code_of([&] { return late.open("w.bin", "t"); }) == "ext.missing");
}

TEST_CASE("external_data: links may lead to the folder that really holds the model") {
    const TemporaryFolder folder;
    folder.write("blobs/w", "weights");
    folder.write("blobs/m", "model");
    std::filesystem::create_directory(folder / "snapshot");
    std::filesystem::create_symlink("../blobs/w", folder / "snapshot/w.bin");
    std::filesystem::create_symlink("../blobs/m", folder / "snapshot/m.onnx");
    tensor::ExternalFolder external = external_folder(folder / "snapshot");
    const auto code = [&] {
        return code_of([&] { return tensor::ExternalFiles(external).open("w.bin", "t"); });
    };
    CHECK(code() == "ext.unsafe_path");
    external.model_folder = os::real_folder_of(
        folder / "snapshot/m.onnx", os::File::open(folder / "snapshot/m.onnx").identity());
    CHECK(code() == "accepted");
    external.policy.links = contain::LinkPolicy::strict;
    CHECK(code() == "ext.unsafe_path");
    external.policy.links = contain::LinkPolicy::trusted;
    external.model_folder = nullptr;
    CHECK(code() == "accepted");
}

}  // namespace onnxmap::test
