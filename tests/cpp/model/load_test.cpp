#include "model/load.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "caught.hpp"
#include "memory_source.hpp"
#include "model/tensor.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/pooled_file.hpp"
#include "os/write_calls.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;

model::LoadOptions options_for(const wire::MessageTable& root = message<"ModelProto">) {
    model::LoadOptions options;
    options.root = &root;
    return options;
}

auto load(const std::string& path, source::IoMode mode = source::IoMode::automatic,
          const wire::MessageTable& root = message<"ModelProto">) {
    return model::load_file(path, mode, options_for(root));
}

bool mentions(const Error& error, std::string_view text) {
    return std::string_view(error.what()).find(text) != std::string_view::npos;
}

constexpr source::IoMode kModes[] = {source::IoMode::automatic, source::IoMode::mmap,
                                     source::IoMode::read};

}  // namespace

TEST_CASE("load: each mode reads a model from a file") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m.onnx", ByteView(varied_model()));
    const std::size_t before = open_descriptors();
    for (const source::IoMode mode : kModes) {
        const auto document = load(path, mode);
        const auto graph = document->child(document->root(), onnx::field<"ModelProto.graph">);
        REQUIRE(graph);
        CHECK(document->find(*graph, onnx::field<"GraphProto.name">)->text() == "again");
        CHECK(document->source().path() == path);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("load: empty files and models without a graph are refused, and the error names them") {
    const TemporaryFolder folder;
    const std::string empty = folder.write("empty.onnx", "");
    const std::string no_graph = folder.write("no_graph.onnx", ByteView(scalar(1, 8)));
    for (const source::IoMode mode : kModes) {
        const auto nothing = error_of([&] { return load(empty, mode); });
        REQUIRE(nothing);
        CHECK(nothing->code == "model.empty");
        CHECK(nothing->file == empty);
        CHECK(nothing->offset == 0);
        CHECK(mentions(*nothing, "file is empty"));
        CHECK(mentions(*nothing, empty));
        const auto graphless = error_of([&] { return load(no_graph, mode); });
        REQUIRE(graphless);
        CHECK(graphless->code == "model.no_graph");
        CHECK(graphless->file == no_graph);
    }
    // Any other message may be empty. An empty graph is a graph, too.
    CHECK(code_of([&] { return load(empty, source::IoMode::mmap, message<"TensorProto">); }) ==
          "accepted");
    const std::string present = folder.write("present.onnx", ByteView(blob(7, Bytes{})));
    CHECK(code_of([&] { return load(present); }) == "accepted");
}

TEST_CASE("load: without the demand for a model, everything that protobuf accepts is accepted") {
    for (const Bytes& bytes : {Bytes{}, scalar(1, 8)}) {
        const auto source = std::make_shared<MemorySource>(bytes);
        CHECK(code_of([&] { return model::load_source(source, options_for(), false); }) ==
              "accepted");
        CHECK(code_of([&] {
                  return model::load_source(source, options_for(), true);
              }).starts_with("model."));
    }
}

TEST_CASE("load: the error says where bytes are bad, or what kind of file it is") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m.onnx", ByteView(blob(7, from_hex("2a0100"))));
    const auto error = error_of([&] { return load(path); });
    REQUIRE(error);
    CHECK(error->code == "wire.field_number");
    CHECK(error->offset == 4);
    CHECK(error->path == "graph.initializer[0]");
    CHECK(error->file == path);
    CHECK(mentions(*error, path));
    CHECK(mentions(*error, "offset 4"));

    const std::string pointer = folder.write(
        "lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    const auto lfs = error_of([&] { return load(pointer); });
    REQUIRE(lfs);
    CHECK(lfs->code.starts_with("wire."));
    CHECK(mentions(*lfs, "Git LFS pointer"));

    const auto buffer = error_of([&] {
        return model::load_source(std::make_shared<MemorySource>(from_hex("00")), options_for(),
                                  true);
    });
    REQUIRE(buffer);
    CHECK(buffer->file.empty());
    CHECK(mentions(*buffer, "buffer"));
}

TEST_CASE("load: a file with a part of an append has changed, and is not a bad one") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m.onnx", ByteView(from_hex("3a0032057061")));
    const auto code = [&] { return code_of([&] { return load(path); }); };
    CHECK(code() == "wire.length_overrun");
    const auto source = source::open_source(os::File::open(path), source::IoMode::automatic,
                                            os::path_locator(path));
    std::ofstream(path, std::ios::app) << "rto";
    CHECK(code() == "accepted");
    CHECK(code_of([&] { return model::load_source(source, options_for(), true); }) ==
          "file.changed");
    folder.write("m.onnx", ByteView(from_hex("3a0032057061")));
    const os::Descriptor other(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (os::kSystemWriteCalls.lock(other.number()) != 0) return;  // no locks here
    const std::string text = folder.write("m.textproto", "ir_version: 8\ngraph { name: \"g\" }\n");
    const os::Descriptor of_text(::open(text.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(os::kSystemWriteCalls.lock(of_text.number()) == 0);
    for (const source::IoMode mode : kModes) {
        const auto error = error_of([&] { return load(path, mode); });
        REQUIRE(error);
        CHECK(error->code == "file.changed");
        CHECK(error->file == path);
        CHECK(code_of([&] { return load(text, mode); }).starts_with("wire."));
    }
    REQUIRE(os::kSystemWriteCalls.unlock(other.number()) == 0);
    // Whoever asks whether the file is locked keeps nobody out who asks the same.
    const os::Descriptor same(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::flock(same.number(), LOCK_SH | LOCK_NB) == 0);
    CHECK(code() == "wire.length_overrun");
}

TEST_CASE("load: control characters of a path do not get into the message") {
    const TemporaryFolder folder;
    const std::string path = folder.write("a\nb\x1b.onnx", "");
    const auto error = error_of([&] { return load(path); });
    REQUIRE(error);
    CHECK(error->file == path);
    CHECK_FALSE(mentions(*error, "\n"));
    CHECK_FALSE(mentions(*error, "\x1b"));
}

TEST_CASE("load: only readable regular files are loaded") {
    const TemporaryFolder folder;
    const std::size_t before = open_descriptors();
    CHECK(errno_of([&] { return load(folder / "missing.onnx"); }) == ENOENT);
    CHECK(errno_of([&] { return load(folder.path().string()); }) == EISDIR);
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    CHECK(code_of([&] { return load(folder / "fifo"); }) == "model.not_regular");
    CHECK(code_of([&] { return load(folder.write("bad.onnx", ByteView(from_hex("00")))); }) ==
          "wire.field_number");
    CHECK(open_descriptors() == before);
}

TEST_CASE("load: fields behind 4 GiB are found") {
    // A sparse file. The payload is a hole that needs no disk and is never read.
    constexpr std::uint64_t kPayload = (5ULL << 30) + 1;
    const TemporaryFolder folder;
    const Bytes tail = join(blob(1, node("Behind")), blob(2, "g"));
    const Bytes tensor_head = join(scalar(1, kPayload), scalar(2, 2),
                                   tag(9, WireType::length_delimited), varint(kPayload));
    const std::uint64_t tensor_size = tensor_head.size() + kPayload;
    const Bytes initializer_head = join(tag(5, WireType::length_delimited), varint(tensor_size));
    const std::uint64_t graph_size = initializer_head.size() + tensor_size + tail.size();
    const Bytes head =
        join(tag(7, WireType::length_delimited), varint(graph_size), initializer_head, tensor_head);
    const std::string path = folder.write("large.onnx", ByteView(head));
    std::filesystem::resize_file(path, head.size() + kPayload);
    std::ofstream(path, std::ios::binary | std::ios::app)
        .write(as_text(tail).data(), static_cast<std::streamsize>(tail.size()));
    for (const source::IoMode mode : {source::IoMode::mmap, source::IoMode::read}) {
        const auto document = load(path, mode);
        const auto graph = document->child(document->root(), onnx::field<"ModelProto.graph">);
        REQUIRE(graph);
        CHECK(document->find(*graph, onnx::field<"GraphProto.name">)->text() == "g");
        const auto found = document->index(*graph)->at(onnx::field<"GraphProto.node">, 0);
        CHECK(onnx::Message(message<"NodeProto">, found.bytes)
                  .text(onnx::field<"NodeProto.op_type">) == "Behind");
        const auto tensor = document->index(*graph)->at(onnx::field<"GraphProto.initializer">, 0);
        const onnx::Message tensor_message(message<"TensorProto">, tensor.bytes);
        const tensor::Values values = model::Tensor(*document, tensor_message).values();
        REQUIRE(values.payload() != nullptr);
        CHECK(values.payload()->nbytes == kPayload);
        CHECK(values.payload()->offset == head.size());
    }
}

}  // namespace onnxmap::test
