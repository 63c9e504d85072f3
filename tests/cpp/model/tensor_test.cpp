#include "model/tensor.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>

#include "caught.hpp"
#include "external_folder.hpp"
#include "loaded_model.hpp"
#include "model/load.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

// A model in a file with these initializers, and the tensors of its list.
struct Saved {
    explicit Saved(const std::vector<Bytes>& tensors,
                   std::function<void(const Error&)> tolerate = nullptr) {
        Bytes graph;
        for (const Bytes& one : tensors) append(graph, blob(5, one));
        bytes = model(graph);
        path = folder.write("m.onnx", ByteView(bytes));
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.folder = folder.path().string();
        options.external = external_folder(folder.path().string());
        options.tolerate = std::move(tolerate);
        document = model::load_file(path, source::IoMode::mmap, options);
    }

    template <class Ask>
    auto ask(std::uint64_t position, Ask&& question) const {
        const onnx::Message tensor = main_graph(document).initializers().at(position);
        return question(model::Tensor(*document, tensor));
    }
    [[nodiscard]] auto file(std::uint64_t i) const {
        return ask(i, [](const model::Tensor& found) { return found.file(); });
    }
    [[nodiscard]] auto offset(std::uint64_t i) const {
        return ask(i, [](const model::Tensor& found) { return found.offset(); });
    }
    [[nodiscard]] std::uint64_t stored_nbytes(std::uint64_t i) const {
        return ask(i, [](const model::Tensor& found) { return found.stored_nbytes(); });
    }

    TemporaryFolder folder;
    Bytes bytes;
    std::string path;
    std::shared_ptr<const model::Document> document;
};

}  // namespace

TEST_CASE("tensor: raw data and a packed run of floats stand in the model's file") {
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

TEST_CASE("tensor: external data stand where the model says") {
    const Saved saved({external_tensor("e", "w.bin", 4, 3), external_tensor("u", "../w", 0, 1)});
    CHECK(saved.file(0) == saved.folder / "w.bin");
    CHECK(saved.offset(0) == 4U);
    CHECK(saved.stored_nbytes(0) == 3);
    CHECK(saved.ask(0, [](const model::Tensor& found) {
        return std::string(found.external()->location);
    }) == "w.bin");
    CHECK(code_of([&] { return saved.file(1); }) == "ext.unsafe_path");
    std::ignore = saved.folder.write("w.bin", "0123456789");
    const auto opened =
        saved.ask(0, [](const model::Tensor& found) { return found.open_external(); });
    REQUIRE(opened);
    CHECK(opened->path == saved.folder / "w.bin");
    CHECK(opened->source->size() == 10);
    CHECK(code_of([&] {
              return saved.ask(
                  1, [](const model::Tensor& found) { return found.open_external().has_value(); });
          }) == "ext.unsafe_path");
}

TEST_CASE("tensor: what is decoded, in pieces or in memory stands nowhere") {
    const Saved saved({join(scalar(1, 2), scalar(2, 6), packed(5, {1, 300})),
                       segment_tensor("p", 0, 1), segment_tensor("p", 1, 2),
                       join(scalar(1, 1), scalar(2, 999), packed(5, {1})),
                       join(scalar(1, 1), scalar(2, 8), blob(6, "s"), blob(9, "s"))});
    CHECK_FALSE(saved.file(0));
    CHECK_FALSE(saved.offset(0));
    for (const std::uint64_t piece : {1U, 2U}) {
        CHECK_FALSE(saved.file(piece));
        CHECK_FALSE(saved.offset(piece));
        CHECK(saved.stored_nbytes(piece) == 2);
    }
    CHECK_FALSE(saved.file(3));
    CHECK(saved.stored_nbytes(3) == 0);
    // Strings are in string_data, whatever else a lenient reader tolerates.
    CHECK_FALSE(saved.offset(4));
    CHECK_FALSE(saved.ask(0, [](const model::Tensor& found) { return found.open_external(); }));
    const LoadedModel buffer(blob(5, raw_tensor("raw", {1})));
    const onnx::Message tensor = buffer.graph.initializers().at(0);
    CHECK_FALSE(model::Tensor(*buffer.document, tensor).file());
    CHECK_FALSE(model::Tensor(*buffer.document, tensor).offset());
}

TEST_CASE("tensor: an error that names no tensor gets the path of the tensor") {
    const Bytes bad_type = join(scalar(1, 1), scalar(2, 999));
    const Bytes bad_dim = join(scalar(1, static_cast<std::uint64_t>(-1)), scalar(2, 2));
    const Bytes too_short = join(scalar(1, 9), scalar(2, 2), blob(9, Bytes(1)));
    const Bytes unsafe = external_tensor("", "../w", 0, 1);
    const Saved saved({bad_type, bad_dim, too_short, unsafe, raw_tensor("w", {1, 2})});
    const auto fault = [&](std::uint64_t i, auto&& question) {
        const auto error = error_of([&] { return saved.ask(i, question); });
        return std::pair(error.value().code, error.value().tensor);
    };
    using Fault = std::pair<std::string, std::string>;
    CHECK(fault(0, [](const model::Tensor& found) { return found.type().bits; }) ==
          Fault("tensor.dtype", "graph.initializer[0]"));
    CHECK(fault(1, [](const model::Tensor& found) { return found.count(); }) ==
          Fault("tensor.negative_dim", "graph.initializer[1]"));
    CHECK(fault(2, [](const model::Tensor& found) { return found.values().count(); }) ==
          Fault("tensor.data_size", "graph.initializer[2]"));
    CHECK(fault(3, [](const model::Tensor& found) { return found.file(); }) ==
          Fault("ext.unsafe_path", "graph.initializer[3]"));
    CHECK(fault(4, [](const model::Tensor& found) {
              return found.naming([]() -> int { throw Error("tensor.padding", "w"); });
          }) == Fault("tensor.padding", "graph.initializer[4]"));
}

TEST_CASE("tensor: values that are not valid are nothing, and report nothing") {
    const Saved saved({raw_tensor("good", {1, 2}),
                       join(scalar(1, 9), scalar(2, 2), blob(9, Bytes(1))),
                       segment_tensor("p", 0, 1), segment_tensor("p", 1, 2),
                       segment_tensor("q", 0, 2), segment_tensor("q", 0, 2)});
    const auto count = [&](std::uint64_t i) {
        return saved.ask(i, [](const model::Tensor& found) {
            const auto values = found.values_if_valid();
            return values ? std::optional(values->count()) : std::nullopt;
        });
    };
    CHECK(count(0) == 2U);
    CHECK_FALSE(count(1));
    CHECK(count(2) == 2U);
    CHECK(count(3) == 2U);
    CHECK_FALSE(count(4));
    CHECK(saved.ask(4, [](const model::Tensor& found) {
        return code_of([&] { return found.values().count(); });
    }) == "tensor.segment");
}

TEST_CASE(
    "tensor: a fault that is tolerated is reported when values are read, not when asked for") {
    int reported = 0;
    const Bytes too_long = join(scalar(1, 2), scalar(2, 22), blob(8, "w"), blob(9, Bytes(2)));
    const Saved saved({too_long}, [&](const Error& fault) {
        if (tensor::TolerateQuietly::active()) return;
        CHECK(fault.code == "tensor.data_size");
        ++reported;
    });
    CHECK(saved.ask(0, [](const model::Tensor& found) {
        return found.values_if_valid()->count();
    }) == 2U);
    CHECK(reported == 0);
    CHECK(saved.ask(0, [](const model::Tensor& found) { return found.values().count(); }) == 2U);
    CHECK(reported == 1);
}

}  // namespace onnxmap::test
