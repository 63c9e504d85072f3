#include "save/save_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "opened.hpp"
#include "sanitized.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;
using save::OutputFile;
using save::SaveOptions;

}  // namespace

TEST_CASE("save_files: makes new files and replaces old ones") {
    const TemporaryFolder folder;
    for (const char* text : {"first", "second, and longer", ""}) {
        const auto result = saved({}, model_file(folder / "m.onnx", text));
        CHECK(result.nbytes.written == std::string_view(text).size());
        CHECK(result.left_over.empty());
        CHECK(texts_in(folder.path()) == Texts{{"m.onnx", text}});
    }
    saved({}, model_file(folder / "m.onnx", "pair"), data_file(folder / "w.data", "data"));
    saved({}, model_file(folder / "m.onnx", "Pair"), data_file(folder / "w.data", "Data"));
    CHECK(texts_in(folder.path()) == Texts{{"m.onnx", "Pair"}, {"w.data", "Data"}});
    CHECK(open_descriptors() == [&] {
        saved({}, model_file(folder / "m.onnx", "again"));
        return open_descriptors();
    }());
}

TEST_CASE("save_files: several models on several data files, in several folders") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "a");
    fs::create_directory(folder / "b");
    for (const char* round : {"1", "2", "3"}) {
        const std::string text = round;
        std::uint64_t last = 0;
        SaveOptions options;
        options.progress = [&](std::uint64_t done, std::uint64_t total) {
            CHECK(done >= last);
            CHECK(total == 6);
            last = done;
        };
        const auto result =
            saved(options, model_file(folder / "a/m", "m" + text), data_file(folder / "a/w", text),
                  data_file(folder / "b/w", text), model_file(folder / "b/m", "n" + text));
        CHECK(last == 6);
        CHECK(result.nbytes.written == 6);
        CHECK(texts_in(folder / "a") == Texts{{"m", "m" + text}, {"w", text}});
        CHECK(texts_in(folder / "b") == Texts{{"m", "n" + text}, {"w", text}});
    }
    // Two models and no data.
    saved({}, model_file(folder / "a/m", "x"), model_file(folder / "b/m", "y"));
    CHECK(texts_in(folder / "a") == Texts{{"m", "x"}, {"w", "3"}});
    CHECK(texts_in(folder / "b") == Texts{{"m", "y"}, {"w", "3"}});
}

TEST_CASE("save_files: without old data, each of several models is old or new at any moment") {
    const TemporaryFolder folder;
    folder.write("m", "1");
    folder.write("n", "1");
    bool always = true;
    WritePlan plan;
    plan.before = [&](std::size_t) {
        for (const char* name : {"m", "n"}) {
            const std::string text = text_of(folder / name);
            always = always && (text == "1" || text == "2");
        }
    };
    const WatchedWrites watched(plan);
    saved({}, model_file(folder / "m", "2"), model_file(folder / "n", "2"),
          data_file(folder / "w", "2"));
    CHECK(always);
    CHECK(texts_in(folder.path()) == Texts{{"m", "2"}, {"n", "2"}, {"w", "2"}});
}

TEST_CASE("save_files: relative paths") {
    const TemporaryFolder folder;
    const fs::path before = fs::current_path();
    fs::create_directory(folder / "below");
    fs::current_path(folder.path());
    saved({}, model_file("m", "here"), data_file("below/w", "there"), data_file("./w", "dot"));
    fs::current_path(before);
    CHECK(text_of(folder / "m") == "here");
    CHECK(text_of(folder / "w") == "dot");
    CHECK(text_of(folder / "below/w") == "there");
}

TEST_CASE("save_files: without overwrite, a name that is taken is refused") {
    const TemporaryFolder folder;
    SaveOptions keep;
    keep.overwrite = false;
    saved(keep, model_file(folder / "m", "1"), data_file(folder / "w", "1"));
    fs::create_symlink("nowhere", folder / "link");
    const Texts before = texts_in(folder.path());
    const auto number = [&](const char* model, const char* data) {
        return errno_of([&] {
            return saved(keep, model_file(folder / model, "2"), data_file(folder / data, "2"));
        });
    };
    const WatchedWrites watched;
    CHECK(number("m", "new") == EEXIST);
    CHECK(number("new", "w") == EEXIST);
    CHECK(number("link", "new") == EEXIST);
    CHECK(watched.count(Write::write) == 0);
    CHECK(texts_in(folder.path()) == before);
}

TEST_CASE("save_files: without overwrite, a name that is taken meanwhile is refused") {
    for (const bool plain : {false, true}) {
        for (const char* taken : {"m", "w"}) {
            CAPTURE(taken);
            const TemporaryFolder folder;
            WritePlan plan;
            if (plain) plan.never[Write::rename_to_new] = ENOSYS;
            plan.before = [&](std::size_t call) {
                if (call == 4) folder.write(taken, "of another process");
            };
            SaveOptions keep;
            keep.overwrite = false;
            const WatchedWrites watched(plan);
            CHECK(errno_of([&] {
                      return saved(keep, model_file(folder / "m", "1"),
                                   data_file(folder / "w", "1"));
                  }) == EEXIST);
            CHECK(texts_in(folder.path()) == Texts{{taken, "of another process"}});
        }
    }
}

TEST_CASE("save_files: a data name that a program without locks takes last is not replaced") {
    const auto save_in = [](const TemporaryFolder& folder) {
        return saved({}, model_file(folder / "m", "1"), data_file(folder / "w", "1"));
    };
    std::size_t put = 0;  // the call that gives the data file its name
    {
        const TemporaryFolder folder;
        folder.write("m", "old");
        const WatchedWrites watched;
        static_cast<void>(save_in(folder));
        while (watched.records()[put].to != "w") ++put;
    }
    const TemporaryFolder folder;
    folder.write("m", "old");
    const WatchedWrites watched({.before = [&](std::size_t call) {
        if (call == put) folder.write("w", "of another process");
    }});
    CHECK(errno_of([&] { return save_in(folder); }) == EEXIST);
    CHECK(texts_in(folder.path()) == Texts{{"m", "old"}, {"w", "of another process"}});
}

TEST_CASE("save_files: names that no file can have are refused before anything is written") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "folder");
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    folder.write("file", "x");
    fs::create_directory(folder / "closed");
    const WatchedWrites watched;
    const auto number = [&](const std::string& path) {
        const int of_model = errno_of(
            [&] { return saved({}, data_file(folder / "w", "1"), model_file(path, "1")); });
        CHECK(of_model == errno_of([&] { return saved({}, data_file(path, "1")); }));
        return of_model;
    };
    CHECK(number("") == ENOENT);
    CHECK(number(folder / "folder") == EISDIR);
    CHECK(number(folder / "folder/") == EISDIR);
    CHECK(number(folder / "folder/.") == EISDIR);
    CHECK(number(folder / "folder/..") == EISDIR);
    CHECK(number(folder / "missing/m") == ENOENT);
    CHECK(number(folder / "file/m") == ENOTDIR);
    CHECK(number(folder / std::string(256, 'n')) == ENAMETOOLONG);
    CHECK(number((folder / "m") + std::string("\0x", 2)) == EINVAL);
    CHECK(code_of([&] { return saved({}, model_file(folder / "fifo", "1")); }) ==
          "save.not_regular");
    CHECK(code_of([&] {
              return saved({}, model_file(folder / "m", "1"), data_file(folder / "./m", "1"));
          }) == "save.same_path");
    CHECK(watched.count(Write::write) == 0);
    CHECK(texts_in(folder.path()) ==
          Texts{{"closed", "(other)"}, {"fifo", "(other)"}, {"file", "x"}, {"folder", "(other)"}});
}

TEST_CASE("save_files: names of 255 bytes") {
    const TemporaryFolder folder;
    std::string long_name;
    while (long_name.size() < 255) long_name += "\xE2\x82\xAC";  // three bytes each
    const std::string other(255, 'w');
    for (const char* text : {"1", "2"}) {
        bool valid = true;
        WritePlan plan;
        plan.before = [&](std::size_t) {
            for (const auto& [name, ignored] : texts_in(folder.path())) {
                // No character of the name is cut in the middle.
                const std::size_t end = name.rfind('.', name.size() - 13);
                valid = valid && name.size() <= 255;
                if (name.ends_with("-tmp") && name[1] != 'w') valid = valid && (end - 1) % 3 == 0;
            }
        };
        const WatchedWrites watched(plan);
        saved({}, model_file(folder / long_name, text), data_file(folder / other, text));
        CHECK(valid);
        CHECK(texts_in(folder.path()) == Texts{{long_name, text}, {other, text}});
    }
}

TEST_CASE("save_files: temporary files and old files have recognisable names") {
    const TemporaryFolder folder;
    folder.write("m", "1");
    folder.write("w", "1");
    const WatchedWrites watched;
    saved({}, model_file(folder / "m", "2"), data_file(folder / "w", "2"));
    int temporary = 0;
    int old = 0;
    for (const WriteRecord& record : watched.records()) {
        if (record.call == Write::open && record.name != ".") {
            CHECK(record.name.starts_with("."));
            CHECK(record.name.ends_with(".onnxmap-tmp"));
            ++temporary;
        }
        if (record.call == Write::rename && record.to.ends_with(".onnxmap-old")) {
            CHECK(record.to.starts_with(record.name + "."));
            ++old;
        }
    }
    CHECK(temporary == 2);
    CHECK(old == 2);
}

TEST_CASE("save_files: a folder that is renamed meanwhile gets the files") {
    const TemporaryFolder folder;
    fs::create_directory(folder / "before");
    WritePlan plan;
    plan.before = [&](std::size_t call) {
        if (call != 3) return;
        fs::rename(folder / "before", folder / "after");
        fs::create_directory(folder / "before");
    };
    const WatchedWrites watched(plan);
    saved({}, model_file(folder / "before/m", "1"), data_file(folder / "before/w", "1"));
    CHECK(texts_in(folder / "after") == Texts{{"m", "1"}, {"w", "1"}});
    CHECK(texts_in(folder / "before").empty());
}

TEST_CASE("save_files: everything is synced, or nothing") {
    for (const bool sync : {true, false}) {
        const TemporaryFolder folder;
        folder.write("m", "1");
        SaveOptions options;
        options.sync = sync;
        const WatchedWrites watched;
        saved(options, model_file(folder / "m", "2"), data_file(folder / "w", "2"));
        CHECK(watched.count(Write::sync) == (sync ? 4 : 0));
    }
}

TEST_CASE("save_files: onto the mapped files that the new ones are made of") {
    const TemporaryFolder folder;
    const std::string old_model = std::string(100'000, 'a') + std::string(3'000'000, 'b') + "end";
    const std::string old_data = std::string(2'000'000, 'c') + std::string(70'000, 'd');
    for (const auto mode : {source::IoMode::mmap, source::IoMode::read}) {
        for (const bool copies : {true, false}) {
            if (kSanitized && copies == (mode == source::IoMode::read)) continue;
            const std::string model = folder.write("m", old_model);
            const std::string data = folder.write("w", old_data);
            const auto in_model = open_source(model, mode);
            const auto in_data = open_source(data, mode);
            const auto files = [&] {
                auto list = list_of(model_file(model, "new header"), data_file(data, ""));
                list[0].parts.range(in_model, 3'100'000, 3);
                list[0].parts.range(in_model, 0, 100'000);
                list[1].parts.range(in_data, 0, 2'000'000);
                list[1].parts.range(in_data, 1'999'999, 70'001);
                list[1].parts.zeros(4096);
                list[1].parts.range(in_model, 100'000, 3'000'000);
                return list;
            };
            const Texts expected = {
                {"m", "new headerend" + std::string(100'000, 'a')},
                {"w", std::string(2'000'001, 'c') + std::string(70'000, 'd') +
                          std::string(4096, '\0') + std::string(3'000'000, 'b')}};
            // Twice: the sources are still the old files, and the result is the same.
            for (int i = 0; i < 2; ++i) {
                WritePlan plan;
                if (!copies) plan.never[Write::copy] = EXDEV;
                const WatchedWrites watched(plan);
                const auto result = save::save_files(files());
                CHECK(result.nbytes.written == 10 + 4096);
                CHECK(result.nbytes.copied == 3 + 100'000 + 2'070'001 + 3'000'000);
                CHECK((texts_in(folder.path()) == expected));
            }
            Bytes still(3'100'003);
            in_model->read(0, still);
            CHECK((as_text(still) == old_model));
            in_model->check_unchanged();
            if (mode != source::IoMode::mmap) continue;
            CHECK((as_text(in_model->bytes()) == old_model));
            CHECK((as_text(in_data->bytes()) == old_data));
        }
    }
}

}  // namespace onnxmap::test
