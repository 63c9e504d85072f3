#include "model/canonical_bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

#include "caught.hpp"
#include "edited_document.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::message;

Bytes canonical(const EditedDocument& document, const onnx::Message& of) {
    const model::CanonicalBytes bytes(*document, of);
    PartSink sink;
    bytes.write(sink);
    const Bytes written = sink.bytes();
    CHECK(written.size() == bytes.nbytes());
    return written;
}

Bytes canonical(const Bytes& bytes, const wire::MessageTable& root) {
    const EditedDocument document(bytes, root);
    return canonical(document, document.root());
}

}  // namespace

TEST_CASE("canonical_bytes: known fields by number in their shortest form, unknown ones behind") {
    const Bytes unknown = join(group(900, scalar(1, 1)), fixed64(901, 5));
    const Bytes given = join(blob(8, "old"), unknown, packed(1, {2}), scalar(902, 1),
                             join(tag(2, WireType::varint, 3), varint(1, 5)), blob(8, "n"),
                             scalar(1, 3), packed(1, {4, 300}), blob(12, ""));
    CHECK(canonical(given, message<"TensorProto">) ==
          join(scalar(1, 2), scalar(1, 3), scalar(1, 4), scalar(1, 300), scalar(2, 1), blob(8, "n"),
               blob(12, ""), unknown, scalar(902, 1)));
    CHECK(canonical(Bytes{}, message<"TensorProto">).empty());
}

TEST_CASE("canonical_bytes: packed fields are one run, and an empty run is left out") {
    const Bytes given = join(packed(5, {1, 2}), scalar(5, 3), packed(7, {}), packed(5, {}),
                             fixed32(4, 0x3f800000), blob(4, from_hex("00000040")));
    CHECK(canonical(given, message<"TensorProto">) ==
          join(blob(4, from_hex("0000803f 00000040")), packed(5, {1, 2, 3})));
}

TEST_CASE("canonical_bytes: a negative int32 has ten bytes") {
    CHECK(canonical(scalar(2, 0xffff'ffff), message<"TensorProto">) == scalar(2, UINT64_MAX));
    CHECK(canonical(packed(5, {0xffff'ffff}), message<"TensorProto">) == packed(5, {UINT64_MAX}));
}

TEST_CASE("canonical_bytes: the parts of a singular message are merged at every depth") {
    const Bytes given = join(blob(7, join(blob(2, "first"), blob(1, node("A")))), scalar(1, 8),
                             blob(7, join(blob(10, "doc"), blob(1, node("B")), blob(2, "last"))));
    const Bytes graph =
        join(blob(1, node("A")), blob(1, node("B")), blob(2, "last"), blob(10, "doc"));
    CHECK(canonical(given, message<"ModelProto">) == join(scalar(1, 8), blob(7, graph)));
}

TEST_CASE("canonical_bytes: they are their own canonical bytes, and mean the same") {
    const Bytes once = canonical(varied_model(), message<"ModelProto">);
    CHECK(once != varied_model());
    CHECK(canonical(once, message<"ModelProto">) == once);
}

TEST_CASE("canonical_bytes: edits are in them") {
    const EditedDocument edited(model(graph_with({node("A"), node("B")})));
    model::set_value(*edited, edited.node(1), field<"NodeProto.name">, new_value(blob(3, "n")));
    const Bytes renamed = join(blob(1, "x"), blob(2, "y"), blob(3, "n"), blob(4, "B"));
    CHECK(canonical(edited, edited.graph()) ==
          join(blob(1, node("A")), blob(1, renamed), blob(2, "g")));
}

TEST_CASE("canonical_bytes: a message whose size changed meanwhile is not written") {
    // A dimension of two bytes gets smaller; one in an over-long form gets larger.
    for (const auto& [dimension, last_byte] :
         {std::pair{varint(200), std::uint8_t{0}}, std::pair{varint(1, 2), std::uint8_t{1}}}) {
        const Bytes tensor = join(blob(8, "name"), tag(1, WireType::varint), dimension);
        const EditedDocument document(tensor, message<"TensorProto">);
        const model::CanonicalBytes bytes(*document, document.root());
        document.source->writable()[tensor.size() - 1] = last_byte;
        PartSink sink;
        CHECK(code_of([&] {
                  bytes.write(sink);
                  return 0;
              }) == "file.changed");
        CHECK(sink.bytes().size() <= bytes.nbytes());
    }
}

}  // namespace onnxmap::test
