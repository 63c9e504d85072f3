// When a source checks whether its file has changed.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "caught.hpp"
#include "external_folder.hpp"
#include "memory_source.hpp"
#include "model/load.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "opened.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using namespace std::chrono_literals;

constexpr source::IoMode kBothModes[] = {source::IoMode::mmap, source::IoMode::read};

std::string code(const source::Source& source, source::Timestamp since) {
    return code_of([&] {
        source.check_unchanged(since);
        return 0;
    });
}

// A model with one tensor of its own, and one in a file.
struct Loaded {
    explicit Loaded(source::IoMode mode, bool watch = true) {
        folder.write("w.bin", "0123456789");
        path = folder.write("m.onnx",
                            ByteView(model(join(blob(5, raw_tensor("own", Bytes(8, 1))),
                                                blob(5, external_tensor("far", "w.bin", 0, 8))))));
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.watch = watch;
        options.external = external_folder(folder.path().string(), mode);
        document = model::load_file(path, mode, options);
    }

    /// Finds and reads the values of the tensor, as an access to it does.
    [[nodiscard]] std::string read(std::uint64_t tensor,
                                   std::optional<source::Timestamp> since = std::nullopt) const {
        return code_of([&] {
            const auto graph = document->child(document->root(), onnx::field<"ModelProto.graph">);
            const auto found =
                document->index(*graph)->at(onnx::field<"GraphProto.initializer">, tensor);
            const onnx::Message message(onnx::message<"TensorProto">, found.bytes);
            return model::Tensor(*document, message).values(since).count();
        });
    }
    [[nodiscard]] std::string look() const {
        return code_of([&] { return document->check_for_changes(); });
    }
    void touch(const std::string& name) const {
        std::filesystem::last_write_time(folder / name, std::filesystem::file_time_type() + 1h);
    }

    TemporaryFolder folder;
    std::string path;
    std::shared_ptr<const model::Document> document;
};

}  // namespace

TEST_CASE("source_changes: a check notices a change right after another check") {
    const TemporaryFolder folder;
    for (int round = 0; round < 20; ++round) {  // most of them within one tick of the clock
        const auto source = open_source(folder.write("f", "0123456789"), source::IoMode::mmap);
        source->check_unchanged();
        std::filesystem::resize_file(folder / "f", 5);
        const auto check = [&] {
            source->check_unchanged();
            return 0;
        };
        CHECK(code_of(check) == "file.changed");
    }
}

TEST_CASE("source_changes: the file is checked unless it was checked since the given moment") {
    for (const source::IoMode mode : kBothModes) {
        const TemporaryFolder folder;
        const std::string path = folder.write("f", "0123456789");
        const source::Timestamp before = source::now();
        const auto source = open_source(path, mode);
        std::filesystem::resize_file(path, 5);
        // It was checked when it was opened.
        CHECK(code(*source, before) == "accepted");
        CHECK(code(*source, source::Timestamp::min()) == "accepted");
        const auto error = error_of([&] {
            source->check_unchanged();
            return 0;
        });
        REQUIRE(error);
        CHECK(error->code == "file.changed");
        CHECK(error->file == path);
        // From now on every check is an error.
        CHECK(code(*source, before) == "file.changed");
        CHECK(code(*source, source::now() - 1h) == "file.changed");
        // Also with the old size, because the time of modification is another.
        std::filesystem::resize_file(path, 10);
        CHECK(code(*source, before) == "file.changed");
    }
    const MemorySource buffer(from_text("0123456789"));
    CHECK(code(buffer, source::now()) == "accepted");
    CHECK_FALSE(buffer.identity());
}

TEST_CASE("source_changes: on access, each file is checked every 10 ms") {
    for (const source::IoMode mode : kBothModes) {
        for (const char* name : {"m.onnx", "w.bin"}) {
            CAPTURE(name);
            const Loaded loaded(mode);
            // The tensor inside the model needs no other file.
            const std::string own = name == std::string("w.bin") ? "accepted" : "file.changed";
            CHECK(loaded.read(0) == "accepted");
            CHECK(loaded.read(1) == "accepted");
            loaded.touch(name);
            std::this_thread::sleep_for(11ms);
            CHECK(loaded.read(1) == "file.changed");
            CHECK(loaded.read(0) == own);
            CHECK(loaded.look() == own);
        }
    }
}

TEST_CASE("source_changes: each file is checked once for a column") {
    const Loaded loaded(source::IoMode::mmap);
    const source::Timestamp started = loaded.document->check_for_changes();
    CHECK(loaded.read(1, started) == "accepted");
    loaded.touch("w.bin");
    CHECK(loaded.read(1, started) == "accepted");  // it was checked after that moment
    CHECK(loaded.read(1, loaded.document->check_for_changes()) == "file.changed");
    CHECK(loaded.read(0, started) == "accepted");
    loaded.touch("m.onnx");
    CHECK(loaded.look() == "file.changed");
}

TEST_CASE("source_changes: without watching, no change is reported") {
    for (const source::IoMode mode : kBothModes) {
        const Loaded loaded(mode, false);
        CHECK(loaded.read(1) == "accepted");
        loaded.touch("w.bin");
        loaded.touch("m.onnx");
        std::this_thread::sleep_for(11ms);
        CHECK(loaded.look() == "accepted");
        CHECK(loaded.read(0) == "accepted");
        CHECK(loaded.read(1) == "accepted");
        CHECK(loaded.read(1, source::now()) == "accepted");
    }
}

TEST_CASE("source_changes: a model that changes while it is loaded is refused") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m.onnx", ByteView(varied_model()));
    for (const source::IoMode mode : kBothModes) {
        const auto source = open_source(path, mode);
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h);
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        const auto error = error_of([&] { return model::load_source(source, options, true); });
        REQUIRE(error);
        CHECK(error->code == "file.changed");
        CHECK(error->file == path);
        options.watch = false;
        CHECK(code_of([&] { return model::load_source(source, options, true); }) == "accepted");
    }
}

}  // namespace onnxmap::test
