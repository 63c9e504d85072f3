#include "model/equality.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "caught.hpp"
#include "memory_source.hpp"
#include "onnx/text_format.hpp"
#include "opened.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;

model::Document loaded(const Bytes& bytes, const wire::MessageTable& root) {
    model::LoadOptions options;
    options.root = &root;
    return {std::make_shared<MemorySource>(bytes), options};
}

bool equal(const wire::MessageTable& root, const Bytes& a, const Bytes& b) {
    const model::Document of_a = loaded(a, root);
    const model::Document of_b = loaded(b, root);
    const bool same = model::equal(of_a, of_a.root(), of_b, of_b.root());
    CHECK(same == model::equal(of_b, of_b.root(), of_a, of_a.root()));
    return same;
}

bool equal_attributes(const Bytes& a, const Bytes& b) {
    return equal(message<"AttributeProto">, a, b);
}

}  // namespace

TEST_CASE("equality: fields may come in any order and form") {
    const Bytes name = blob(1, "k");
    CHECK(equal_attributes(join(name, packed(8, {1, 2})), join(scalar(8, 1), name, scalar(8, 2))));
    CHECK(equal_attributes(join(name, blob(7, from_hex("0000803f"))),
                           join(name, fixed32(7, 0x3f800000))));
    CHECK(equal_attributes(scalar(3, 5), join(tag(3, WireType::varint, 3), varint(5, 4))));
    CHECK(equal_attributes(join(blob(1, "old"), name), name));
    CHECK(equal_attributes(join(blob(5, scalar(2, 1)), blob(5, blob(8, "t"))),
                           blob(5, join(blob(8, "t"), scalar(2, 1)))));
    CHECK(equal(message<"ModelProto">, varied_model(), varied_model()));
}

TEST_CASE("equality: presence, order of a list, bits of floats and unknown fields count") {
    CHECK_FALSE(equal_attributes({}, blob(1, "")));
    CHECK_FALSE(equal_attributes({}, blob(5, Bytes{})));
    CHECK_FALSE(equal_attributes(scalar(3, 0), {}));
    CHECK_FALSE(equal_attributes(packed(8, {1, 2}), packed(8, {2, 1})));
    CHECK_FALSE(equal_attributes(packed(8, {1, 2}), packed(8, {1, 2, 2})));
    CHECK_FALSE(equal_attributes(blob(9, "a"), join(blob(9, "a"), blob(9, ""))));
    CHECK_FALSE(equal_attributes(fixed32(2, 0), fixed32(2, 0x80000000)));
    CHECK(equal_attributes(fixed32(2, 0x7fc00001), fixed32(2, 0x7fc00001)));
    CHECK_FALSE(equal_attributes(fixed32(2, 0x7fc00001), fixed32(2, 0x7fc00000)));
    // An enum and an int32 have 32 bits, whatever the varint.
    CHECK(equal_attributes(scalar(20, 2), scalar(20, (1ULL << 32) + 2)));
    const Bytes unknown = join(scalar(999, 1), group(777, scalar(1, 2)));
    CHECK(equal_attributes(unknown, join(group(777, scalar(1, 2)), scalar(999, 1))));
    CHECK_FALSE(equal_attributes(unknown, scalar(999, 1)));
    CHECK_FALSE(equal_attributes(scalar(999, 1), scalar(999, 2)));
    CHECK_FALSE(equal_attributes(scalar(999, 1), fixed64(999, 1)));
    CHECK_FALSE(equal_attributes(group(777, scalar(1, 2)), group(777, scalar(1, 3))));
}

TEST_CASE("equality: no changed bit that changes the text is tolerated") {
    const auto text_of = [](const model::Document& document) {
        std::string text;
        onnx::write_text(document.root(), {}, [&](std::string_view part) { text += part; });
        return text;
    };
    const Bytes original = varied_model();
    const model::Document first = loaded(original, message<"ModelProto">);
    int equal = 0;
    int different = 0;
    for (std::size_t i = 0; i < original.size(); ++i) {
        for (const int bit : {1, 64}) {
            Bytes changed = original;
            changed[i] = static_cast<std::uint8_t>(changed[i] ^ bit);
            CAPTURE(i);
            try {
                const model::Document second = loaded(changed, message<"ModelProto">);
                const bool same = model::equal(first, first.root(), second, second.root());
                if (same) CHECK(text_of(first) == text_of(second));
                ++(same ? equal : different);
            } catch (const Error&) {  // the changed bytes are no message
            }
        }
    }
    CHECK(equal > 0);  // for example in a name that a later one replaces
    CHECK(different > 300);
}

TEST_CASE("equality: messages of different types differ, whatever their bytes") {
    const model::Document node = loaded({}, message<"NodeProto">);
    const model::Document graph = loaded({}, message<"GraphProto">);
    CHECK_FALSE(model::equal(node, node.root(), graph, graph.root()));
}

TEST_CASE("equality: payloads of a file that is not mapped are read in parts") {
    const TemporaryFolder folder;
    const auto read = [&](const std::string& name, const Bytes& bytes) {
        model::LoadOptions options;
        options.root = &message<"TensorProto">;
        return model::Document(open_source(folder.write(name, bytes), source::IoMode::read),
                               options);
    };
    Bytes content(3 << 20, 7);
    const Bytes tensor = blob(9, content);
    content.back() = 8;
    const model::Document in_memory = loaded(tensor, message<"TensorProto">);
    const model::Document first = read("first", tensor);
    const model::Document changed = read("changed", blob(9, content));
    REQUIRE_FALSE(first.source().viewable());
    CHECK(model::equal(in_memory, in_memory.root(), first, first.root()));
    CHECK(model::equal(first, first.root(), first, first.root()));
    CHECK_FALSE(model::equal(in_memory, in_memory.root(), changed, changed.root()));
    CHECK_FALSE(model::equal(first, first.root(), changed, changed.root()));
}

TEST_CASE("equality: a run that was not scanned may be cut") {
    model::LoadOptions options;
    options.root = &message<"TensorProto">;
    options.scan_packed = false;
    const model::Document cut(std::make_shared<MemorySource>(blob(5, from_hex("01fd"))), options);
    CHECK(code_of([&] { return model::equal(cut, cut.root(), cut, cut.root()); }) ==
          "wire.truncated");
}

}  // namespace onnxmap::test
