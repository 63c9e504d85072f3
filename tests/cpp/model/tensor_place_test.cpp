#include "model/tensor_place.hpp"

#include <doctest/doctest.h>

#include <string>

#include "caught.hpp"
#include "external_place.hpp"
#include "loaded_model.hpp"
#include "model/load.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

Bytes segment(std::string_view name, std::uint64_t begin, std::uint64_t end) {
    return join(scalar(1, 2), scalar(2, 2), blob(8, name), blob(9, Bytes(end - begin, 7)),
                blob(3, join(scalar(1, begin), scalar(2, end))));
}

// A model in a file with these initializers, and the place of each.
struct Saved {
    explicit Saved(const std::vector<Bytes>& tensors) {
        Bytes graph;
        for (const Bytes& one : tensors) append(graph, blob(5, one));
        bytes = model(graph);
        path = folder.write("m.onnx", ByteView(bytes));
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.folder = folder.path().string();
        options.external = external_place(folder.path().string());
        document = model::load_file(path, source::IoMode::mmap, options);
    }

    template <class Ask>
    auto ask(std::uint64_t position, Ask&& question) const {
        const onnx::Message tensor = model::main_graph(document).initializers().at(position);
        return question(model::TensorPlace(*document, tensor));
    }
    [[nodiscard]] auto file(std::uint64_t i) const {
        return ask(i, [](const model::TensorPlace& place) { return place.file(); });
    }
    [[nodiscard]] auto offset(std::uint64_t i) const {
        return ask(i, [](const model::TensorPlace& place) { return place.offset(); });
    }
    [[nodiscard]] std::uint64_t stored_nbytes(std::uint64_t i) const {
        return ask(i, [](const model::TensorPlace& place) { return place.stored_nbytes(); });
    }

    TemporaryFolder folder;
    Bytes bytes;
    std::string path;
    std::shared_ptr<const model::Document> document;
};

}  // namespace

TEST_CASE("tensor_place: raw data and a packed run of floats are in the model's file") {
    const Saved saved({raw_tensor("raw", from_text("payload!")),
                       join(scalar(1, 2), scalar(2, 1), blob(4, "\1\2\3\4\5\6\7\10"))});
    const std::string_view text(reinterpret_cast<const char*>(saved.bytes.data()),
                                saved.bytes.size());
    CHECK(saved.file(0) == saved.path);
    CHECK(saved.offset(0) == text.find("payload!"));
    CHECK(saved.stored_nbytes(0) == 8);
    CHECK(saved.file(1) == saved.path);
    CHECK(saved.offset(1) == text.find("\1\2\3\4\5\6\7\10"));
}

TEST_CASE("tensor_place: external data are in the file that the model names") {
    const Saved saved({external_tensor("e", "w.bin", 4, 3), external_tensor("u", "../w", 0, 1)});
    CHECK(saved.file(0) == saved.folder / "w.bin");
    CHECK(saved.offset(0) == 4U);
    CHECK(saved.stored_nbytes(0) == 3);
    CHECK(saved.ask(0, [](const model::TensorPlace& place) {
        return std::string(place.external()->location);
    }) == "w.bin");
    CHECK(code_of([&] { return saved.file(1); }) == "ext.unsafe_path");
}

TEST_CASE("tensor_place: values that are decoded, in pieces or in memory have no place in a file") {
    const Saved saved({join(scalar(1, 2), scalar(2, 6), packed(5, {1, 300})), segment("p", 0, 1),
                       segment("p", 1, 2), join(scalar(1, 1), scalar(2, 999), packed(5, {1}))});
    CHECK_FALSE(saved.file(0));
    CHECK_FALSE(saved.offset(0));
    for (const std::uint64_t piece : {1, 2}) {
        CHECK_FALSE(saved.file(piece));
        CHECK_FALSE(saved.offset(piece));
        CHECK(saved.stored_nbytes(piece) == 2);
    }
    CHECK_FALSE(saved.file(3));
    CHECK(saved.stored_nbytes(3) == 0);
    const LoadedModel buffer(blob(5, raw_tensor("raw", {1})));
    const onnx::Message tensor = buffer.graph.initializers().at(0);
    CHECK_FALSE(model::TensorPlace(*buffer.document, tensor).file());
    CHECK_FALSE(model::TensorPlace(*buffer.document, tensor).offset());
}

}  // namespace onnxmap::test
