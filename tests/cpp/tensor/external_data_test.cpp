#include "tensor/external_data.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "caught.hpp"
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

// The entry keeps views of `bytes`.
tensor::ExternalEntry read(const Bytes& bytes, std::uint64_t most = 64) {
    return tensor::read_external_entry(onnx::Message(onnx::message<"TensorProto">, bytes), "t",
                                       most);
}

std::string entry_code(const std::vector<Pair>& pairs) {
    return code_of([&] { return read(entries(pairs)).offset; });
}

}  // namespace

TEST_CASE("external_data: location with offset and length") {
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
    CHECK_FALSE(read(zero).length);  // as other readers have it
    CHECK(read(zero).offset == 7);
}

TEST_CASE("external_data: the last of two keys inside one entry counts") {
    const Bytes bytes = join(blob(13, join(blob(1, "offset"), blob(1, "location"), blob(2, "v"))));
    CHECK(read(bytes).location == "v");
}

TEST_CASE("external_data: numbers are decimal digits and nothing else") {
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

TEST_CASE("external_data: what is missing or said twice") {
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

TEST_CASE("external_data: more entries than the limit") {
    Bytes bytes = entries({{"location", "w"}});
    for (int i = 0; i < 3; ++i) append(bytes, entries({{"other", "1"}}));
    CHECK(read(bytes, 4).location == "w");
    CHECK(code_of([&] { return read(bytes, 3).offset; }) == "limit.external_entries");
}

TEST_CASE("external_data: locations are judged by their text first") {
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    folder.write("sub/w.bin", "below");
    folder.write("a..b", "dots");
    const tensor::ExternalFiles files(folder.path().string(), io::IoMode::automatic);
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
    for (const char* location : {"", ".", "./", "sub/..", "w.bin/", "sub/"}) {
        CAPTURE(location);
        CHECK(code(location) == "ext.location");
    }
    CHECK(code(std::string(5000, 'n')) == "ext.location");
    CHECK(code("missing.bin") == "ext.missing");
    CHECK(code("w.bin/x") == "ext.missing");
    CHECK(code("sub") == "ext.not_regular");
    CHECK(as_text(files.open("w.bin", "t")->bytes()) == "weights");
    CHECK(as_text(files.open("sub/../w.bin", "t")->bytes()) == "weights");
    CHECK(as_text(files.open("./sub/w.bin", "t")->bytes()) == "below");
    CHECK(as_text(files.open("a..b", "t")->bytes()) == "dots");
}

TEST_CASE("external_data: links and pipes") {
    const TemporaryFolder folder;
    folder.write("outside.bin", "secret");
    folder.write("model/w.bin", "weights");
    const std::filesystem::path model = folder.path() / "model";
    std::filesystem::create_symlink("../outside.bin", model / "out");
    std::filesystem::create_symlink("w.bin", model / "in");
    std::filesystem::create_symlink("loop", model / "loop");
    REQUIRE(::mkfifo((model / "fifo").c_str(), 0600) == 0);
    const tensor::ExternalFiles files(model.string(), io::IoMode::automatic);
    const auto error = error_of([&] { return files.open("out", "t"); });
    REQUIRE(error);
    CHECK(error->code == "ext.unsafe_path");
    CHECK(error->tensor == "t");
    CHECK(error->location == "out");
    CHECK(as_text(files.open("in", "t")->bytes()) == "weights");
    CHECK(code_of([&] { return files.open("loop", "t"); }) != "accepted");
    const auto pipe = error_of([&] { return files.open("fifo", "t"); });
    REQUIRE(pipe);
    CHECK(pipe->code == "ext.not_regular");
    CHECK(pipe->location == "fifo");
}

TEST_CASE("external_data: each file is opened once and let go with the rest") {
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    const std::size_t before = open_descriptors();
    {
        const tensor::ExternalFiles files(folder.path().string(), io::IoMode::automatic);
        const auto first = files.open("w.bin", "a");
        const std::size_t open = open_descriptors();
        CHECK(files.open("w.bin", "b") == first);
        CHECK(open_descriptors() == open);
        // What could not be opened is looked for again.
        CHECK(code_of([&] { return files.open("late.bin", "a"); }) == "ext.missing");
        folder.write("late.bin", "here");
        CHECK(as_text(files.open("late.bin", "a")->bytes()) == "here");
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("external_data: a model without a folder has no external files") {
    const tensor::ExternalFiles files("", io::IoMode::automatic);
    CHECK(code_of([&] { return files.open("w.bin", "t"); }) == "ext.no_root");
    CHECK(code_of([&] { return files.open("../w.bin", "t"); }) == "ext.unsafe_path");
    const tensor::ExternalFiles rooted("/models/", io::IoMode::automatic);
    CHECK_THROWS_AS(static_cast<void>(rooted.path_of("../w.bin", "w")), Error);
    CHECK(rooted.path_of("w.bin", "w") == "/models/w.bin");
    CHECK(tensor::ExternalFiles("/models", io::IoMode::automatic).path_of("w", "w") == "/models/w");
}

}  // namespace onnxmap::test
