#include "model/segment_groups.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "external_folder.hpp"
#include "memory_source.hpp"
#include "model/document.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;

Bytes segment(std::uint64_t begin, std::uint64_t end) {
    return blob(3, join(scalar(1, begin), scalar(2, end)));
}

// A piece of a tensor of `count` elements, UINT8 or of another type, with values of its own.
Bytes piece(std::string_view name, std::uint64_t count, std::uint64_t begin, std::uint64_t end,
            const Bytes& values, std::uint64_t type = 2) {
    return join(scalar(1, count), scalar(2, type), blob(8, name), segment(begin, end), values);
}

Bytes raw(const Bytes& bytes) { return blob(9, bytes); }

// A loaded message, and the result of reading each of its tensors, in the order of the walk.
class LoadedSegments {
  public:
    explicit LoadedSegments(const Bytes& bytes,
                            const wire::MessageTable& root = message<"ModelProto">,
                            const std::string& external_root = "")
        : source_(std::make_shared<MemorySource>(bytes)) {
        model::LoadOptions options;
        options.root = &root;
        options.external = external_folder(external_root);
        document_ = std::make_unique<model::Document>(source_, options);
        model::for_each_tensor(
            document_->root(), document_->limits().depth,
            [&](const std::string&, const onnx::Message& tensor) { tensors_.push_back(tensor); });
    }

    [[nodiscard]] tensor::Values values(std::size_t i) const {
        tensor::Values made = model::Tensor(*document_, tensors_.at(i)).values();
        made.check_count();
        return made;
    }
    [[nodiscard]] Bytes read(std::size_t i) const {
        const tensor::Values made = values(i);
        HeapCopy room{ByteView(Bytes(made.count() * made.type().itemsize()))};
        made.read(tensor::Conversion::none(made.type()),
                  {room.data(), static_cast<std::size_t>(room.view().size())});
        return join(room.view());
    }
    [[nodiscard]] std::string code(std::size_t i) const {
        return code_of([&] { return read(i); });
    }
    [[nodiscard]] std::vector<std::string> codes() const {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < tensors_.size(); ++i) all.push_back(code(i));
        return all;
    }

  private:
    std::shared_ptr<MemorySource> source_;
    std::unique_ptr<model::Document> document_;
    std::vector<onnx::Message> tensors_;
};

Bytes graph_of(const std::vector<Bytes>& initializers) {
    Bytes graph = blob(2, "g");
    for (const Bytes& one : initializers) append(graph, blob(5, one));
    return graph;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("segment_groups: every piece reads as the whole tensor, whatever the order of pieces") {
    const Bytes first = piece("w", 5, 0, 2, raw({1, 2}));
    const Bytes second = piece("w", 5, 2, 4, packed(5, {3, 4}));  // stored as typed values
    const Bytes third = piece("w", 5, 4, 5, scalar(5, 5));
    for (const auto& order : {std::vector{first, second, third}, {third, first, second}}) {
        const LoadedSegments loaded(model(graph_of(order)));
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(loaded.read(i) == Bytes{1, 2, 3, 4, 5});
            CHECK(loaded.values(i).in_pieces());
            CHECK_FALSE(loaded.values(i).is_view());
            CHECK(loaded.values(i).payload() == nullptr);
        }
    }
}

TEST_CASE("segment_groups: sub-byte elements in pieces are converted and packed") {
    // Five int4 elements, cut in the middle of a byte.
    const Bytes first = piece("w", 5, 0, 3, raw(from_hex("2103")), 22);
    const Bytes second = piece("w", 5, 3, 5, scalar(5, 0x54), 22);
    const LoadedSegments loaded(model(graph_of({second, first})));
    CHECK(loaded.read(0) == Bytes{1, 2, 3, 4, 5});
    const tensor::Values values = loaded.values(1);
    Bytes packed_bytes(3);
    values.read_packed(packed_bytes);
    CHECK(packed_bytes == from_hex("214305"));
    const onnx::DataTypeInfo& float32 = onnx::data_type(onnx::DataType::FLOAT);
    Bytes floats(20);
    values.read(*tensor::Conversion::find(values.type(), float32), floats);
    CHECK(floats == from_hex("0000803f 00000040 00004040 00008040 0000a040"));
}

TEST_CASE("segment_groups: strings may be in pieces") {
    const LoadedSegments loaded(
        model(graph_of({piece("s", 3, 1, 3, join(blob(6, "b"), blob(6, "c")), 8),
                        piece("s", 3, 0, 1, blob(6, "a"), 8)})));
    std::string all;
    loaded.values(0).for_each_string([&](std::uint64_t i, std::string_view text) {
        CHECK(i == all.size());
        all += text;
    });
    CHECK(all == "abc");
    const LoadedSegments one_too_few(model(
        graph_of({piece("s", 3, 0, 2, blob(6, "a"), 8), piece("s", 3, 2, 3, blob(6, "c"), 8)})));
    CHECK(code_of([&] { return one_too_few.values(0).count(); }) == "tensor.data_size");
}

TEST_CASE("segment_groups: a lone segment that covers the whole tensor reads normally") {
    const LoadedSegments loaded(model(graph_of({piece("w", 2, 0, 2, raw({1, 2}))})));
    CHECK(loaded.read(0) == Bytes{1, 2});
    CHECK(loaded.values(0).is_view());
    CHECK_FALSE(loaded.values(0).in_pieces());
    // Also if the tensor is the whole file.
    const LoadedSegments alone(piece("w", 2, 0, 2, raw({1, 2})), message<"TensorProto">);
    CHECK(alone.read(0) == Bytes{1, 2});
    const LoadedSegments half(piece("w", 2, 0, 1, raw({1})), message<"TensorProto">);
    CHECK(half.code(0) == "tensor.segment");
    // An absent begin or end is zero. That range holds none of the two elements.
    const Bytes no_end =
        join(scalar(1, 2), scalar(2, 1), blob(8, "w"), raw(Bytes(8)), blob(3, scalar(1, 0)));
    CHECK(LoadedSegments(model(graph_of({no_end}))).code(0) == "tensor.segment");
}

TEST_CASE("segment_groups: pieces that do not make up a tensor are refused, others are read") {
    const LoadedSegments loaded(
        model(graph_of({piece("gap", 5, 0, 2, raw({1, 2})), raw_tensor("good", {7}),
                        piece("gap", 5, 3, 5, raw({4, 5})), piece("whole", 1, 0, 1, raw({9}))})));
    CHECK(loaded.codes() == Codes{"tensor.segment", "accepted", "tensor.segment", "accepted"});
    // The second read gives the same error.
    CHECK(loaded.code(0) == "tensor.segment");
    // A piece must have as many values as its segment says, not as the shape says.
    const LoadedSegments sizes(model(
        graph_of({piece("a", 4, 0, 2, raw({1, 2, 3, 4})), piece("a", 4, 2, 4, raw({3, 4}))})));
    CHECK(sizes.codes() == Codes{"tensor.data_size", "tensor.data_size"});
    const LoadedSegments typed(model(
        graph_of({piece("a", 4, 0, 2, packed(5, {1})), piece("a", 4, 2, 4, packed(5, {3, 4}))})));
    CHECK(typed.codes() == Codes{"tensor.data_size", "tensor.data_size"});
    const LoadedSegments huge(
        model(graph_of({piece("a", 1ULL << 50, 0, 2, raw({1, 2})),
                        piece("a", 1ULL << 50, 2, 1ULL << 50, raw({3, 4}))})));
    CHECK(huge.codes() == Codes{"tensor.data_size", "tensor.data_size"});
}

TEST_CASE("segment_groups: tensors of one name that are not all segments are not joined") {
    const LoadedSegments loaded(model(graph_of(
        {piece("w", 2, 0, 1, raw({1})), raw_tensor("w", {1, 2}), piece("w", 2, 1, 2, raw({2}))})));
    CHECK(loaded.code(0) == "model.duplicate_name");
    CHECK(loaded.code(2) == "model.duplicate_name");
    CHECK(loaded.code(1) == "accepted");  // this tensor has no segment, so it is read
}

TEST_CASE("segment_groups: a name counts only within its list") {
    const auto with_t = [](const Bytes& tensors) {
        return node("Op", {join(blob(1, "a"), tensors, scalar(20, 9))});
    };
    const Bytes first = piece("w", 2, 0, 1, raw({1}));
    const Bytes second = piece("w", 2, 1, 2, raw({2}));
    // One piece in the graph, one in a subgraph: neither is whole.
    const Bytes subgraph = node("If", {attribute("g", 5, blob(6, graph_of({second})))});
    const LoadedSegments apart(model(join(graph_of({first}), blob(1, subgraph))));
    CHECK(apart.codes() == Codes{"tensor.segment", "tensor.segment"});
    // Both pieces in the list of one attribute, and both in that of another.
    const LoadedSegments lists(
        model(join(blob(1, with_t(join(blob(10, first), blob(10, second)))),
                   blob(1, with_t(join(blob(10, second), blob(10, first)))))));
    CHECK(lists.codes() == Codes(4, "accepted"));
    const LoadedSegments split(
        model(join(blob(1, with_t(blob(10, first))), blob(1, with_t(blob(10, second))))));
    CHECK(split.codes() == Codes{"tensor.segment", "tensor.segment"});
    // Tensors without a name are not joined.
    const LoadedSegments unnamed(
        model(graph_of({piece("", 2, 0, 1, raw({1})), piece("", 2, 1, 2, raw({2})),
                        piece("", 1, 0, 1, raw({3}))})));
    CHECK(unnamed.codes() == Codes{"tensor.segment", "tensor.segment", "accepted"});
    // A singular field is not a list: here, t of two attributes.
    const LoadedSegments singular(model(blob(
        1, node("Op", {attribute("a", 4, blob(5, first)), attribute("b", 4, blob(5, second))}))));
    CHECK(singular.codes() == Codes{"tensor.segment", "tensor.segment"});
}

TEST_CASE("segment_groups: attributes of the same name have different lists") {
    const Bytes first = piece("w", 2, 0, 1, raw({1}));
    const Bytes second = piece("w", 2, 1, 2, raw({2}));
    const LoadedSegments lists(
        model(blob(1, node("Op", {attribute("same", 9, blob(10, first)),
                                  attribute("same", 9, blob(10, second))}))));
    CHECK(lists.codes() == Codes{"tensor.segment", "tensor.segment"});
    const LoadedSegments singular(
        model(blob(1, node("Op", {attribute("same", 4, blob(5, first)),
                                  attribute("same", 4, blob(5, second))}))));
    CHECK(singular.codes() == Codes{"tensor.segment", "tensor.segment"});
}

TEST_CASE("segment_groups: pieces of merged graphs and of merged tensors are joined") {
    const Bytes first = piece("w", 2, 0, 1, raw({1}));
    const Bytes second = piece("w", 2, 1, 2, raw({2}));
    const LoadedSegments twice(join(blob(7, graph_of({first})), blob(7, graph_of({second}))));
    CHECK(twice.read(0) == Bytes{1, 2});
    CHECK(twice.read(1) == Bytes{1, 2});
    // A tensor whose segment is in the second part of its message.
    const Bytes merged = join(blob(5, join(scalar(1, 2), scalar(2, 2), raw({1, 2}))),
                              blob(5, join(blob(8, "m"), segment(0, 2))));
    const LoadedSegments one(model(blob(1, node("Op", {attribute("a", 4, merged)}))));
    CHECK(one.read(0) == Bytes{1, 2});
}

TEST_CASE("segment_groups: pieces that name the same bytes of a file are refused") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    const auto external = [](std::uint64_t begin, std::uint64_t end, std::string_view offset) {
        return piece("w", 8, begin, end,
                     join(blob(13, string_entry("location", "w.bin")),
                          blob(13, string_entry("offset", offset)), scalar(14, 1)));
    };
    const auto codes = [&](const std::vector<Bytes>& pieces) {
        return LoadedSegments(model(graph_of(pieces)), message<"ModelProto">,
                              folder.path().string())
            .codes();
    };
    CHECK(codes({external(0, 4, "0"), external(4, 8, "4")}) == Codes(2, "accepted"));
    CHECK(codes({external(0, 4, "4"), external(4, 8, "0")}) == Codes(2, "accepted"));
    CHECK(codes({external(0, 4, "6"), external(4, 8, "2")}) == Codes(2, "accepted"));
    // Otherwise a small file would become an array of any size.
    CHECK(codes({external(0, 4, "0"), external(4, 8, "0")}) == Codes(2, "tensor.segment"));
    CHECK(codes({external(0, 4, "0"), external(4, 8, "3")}) == Codes(2, "tensor.segment"));
    CHECK(codes({external(0, 4, "0"), external(4, 8, "7")}) == Codes(2, "ext.bounds"));
}

TEST_CASE("segment_groups: a tensor outside of any list is alone") {
    const Bytes whole = piece("w", 2, 0, 2, raw({1, 2}));
    const Bytes half = piece("w", 2, 0, 1, raw({1}));
    const model::SegmentGroups groups(onnx::Message(message<"TensorProto">, whole),
                                      wire::kDefaultDepth);
    CHECK(groups.whole(onnx::Message(message<"TensorProto">, whole))->segments.size() == 1);
    CHECK(code_of([&] { return groups.whole(onnx::Message(message<"TensorProto">, half)); }) ==
          "tensor.segment");
}

}  // namespace onnxmap::test
