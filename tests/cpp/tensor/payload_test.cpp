#include "tensor/payload.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "caught.hpp"
#include "memory_source.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

// One tensor, alone in a source, with a folder for its external data.
struct Subject {
    explicit Subject(const Bytes& bytes, std::string root = "")
        : source(std::make_shared<MemorySource>(bytes)),
          store{source, {std::move(root), io::IoMode::automatic}, 64},
          message(onnx::message<"TensorProto">, source->bytes()) {
        tensor::read_header(message, header);
    }

    [[nodiscard]] tensor::Payload find() const {
        return tensor::find_payload(message, header, store);
    }
    [[nodiscard]] std::string code() const {
        return code_of([&] { return find().offset; });
    }

    std::shared_ptr<MemorySource> source;
    tensor::Store store;
    onnx::Message message;
    tensor::Header header;
};

std::string code(const Bytes& bytes) { return Subject(bytes).code(); }

const Bytes kFloatPair = join(scalar(1, 2), scalar(2, 1), blob(8, "w"));

}  // namespace

TEST_CASE("payload: raw data are the bytes where they are") {
    const Subject subject(join(kFloatPair, blob(9, Bytes(8, 1))));
    const tensor::Payload payload = subject.find();
    CHECK(payload.source == subject.source);
    CHECK(payload.is_view());
    CHECK(payload.bytes.size() == 8);
    CHECK(payload.bytes.data() == subject.source->data() + payload.offset);
    CHECK(join(payload.bytes) == Bytes(8, 1));
}

TEST_CASE("payload: the size must be the shape's to the byte") {
    for (const std::size_t nbytes : {0UL, 4UL, 7UL, 9UL, 12UL}) {
        const Subject subject(join(kFloatPair, blob(9, Bytes(nbytes))));
        const auto error = error_of([&] { return subject.find().offset; });
        REQUIRE(error);
        CHECK(error->code == "tensor.data_size");
        CHECK(error->tensor == "w");
        const std::string text = error->what();
        CHECK(text.find("expected 8 bytes, found " + std::to_string(nbytes)) != std::string::npos);
    }
    CHECK(code(kFloatPair) == "tensor.data_size");  // no data at all
    CHECK(code(join(scalar(1, 0), scalar(2, 1))) == "accepted");
    CHECK(code(join(scalar(1, 0), scalar(2, 1), blob(9, Bytes(4)))) == "tensor.data_size");
    CHECK(code(join(scalar(2, 1), blob(9, Bytes(4)))) == "accepted");  // a scalar
    CHECK(code(join(scalar(1, 1ULL << 40), scalar(2, 1), blob(9, Bytes(4)))) == "tensor.data_size");
    const Bytes int4 = join(scalar(1, 3), scalar(2, 22));
    CHECK(code(join(int4, blob(9, Bytes(2)))) == "accepted");
    CHECK(code(join(int4, blob(9, Bytes(1)))) == "tensor.data_size");
    CHECK(code(join(int4, blob(9, Bytes(3)))) == "tensor.data_size");
}

TEST_CASE("payload: data in more than one place are refused") {
    const Bytes raw = blob(9, Bytes(8));
    CHECK(code(join(kFloatPair, raw, fixed32(4, 1))) == "tensor.ambiguous_data");
    CHECK(code(join(kFloatPair, raw, scalar(14, 1))) == "tensor.ambiguous_data");
    CHECK(code(join(kFloatPair, fixed32(4, 1), packed(5, {1}))) == "tensor.ambiguous_data");
    CHECK(code(join(kFloatPair, blob(9, Bytes{}), fixed32(4, 1))) == "tensor.ambiguous_data");
    CHECK(code(join(kFloatPair, raw, blob(4, Bytes{}))) == "accepted");
    // External data that are not switched on do not count.
    CHECK(code(join(kFloatPair, raw, blob(13, string_entry("location", "w.bin")))) == "accepted");
}

TEST_CASE("payload: tensors that have no bytes to give") {
    CHECK(code(join(scalar(1, 1), blob(9, Bytes(4)))) == "tensor.dtype");
    CHECK(code(join(scalar(1, UINT64_MAX), scalar(2, 1))) == "tensor.negative_dim");
    CHECK(code(join(kFloatPair, blob(9, Bytes(8)), blob(3, scalar(1, 0)))) == "tensor.segment");
    const Bytes strings = join(scalar(1, 1), scalar(2, 8));
    CHECK(code(join(strings, blob(9, Bytes(8)))) == "tensor.string_raw");
    CHECK(code(join(strings, scalar(14, 1))) == "tensor.string_external");
    CHECK(tensor::check_storage(Subject(join(strings, blob(6, "a"))).header) == 1);
}

TEST_CASE("payload: external bytes at their offset") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    const Subject subject(external_tensor("e", "w.bin", 3, 4), folder.path().string());
    CHECK(tensor::stored_raw(subject.header));
    const tensor::Payload payload = subject.find();
    CHECK(as_text(payload.bytes) == "3456");
    CHECK(payload.offset == 3);
    CHECK(payload.source->path() == folder / "w.bin");
    CHECK(payload.source == subject.find().source);
    // Up to the last byte of the file.
    CHECK(Subject(external_tensor("e", "w.bin", 6, 4), folder.path().string()).code() ==
          "accepted");
}

TEST_CASE("payload: external numbers that do not fit") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    const auto external = [&](std::string_view dims, const std::vector<Bytes>& pairs) {
        Bytes bytes = join(scalar(1, std::stoull(std::string(dims))), scalar(2, 2), scalar(14, 1),
                           blob(13, string_entry("location", "w.bin")));
        for (const Bytes& pair : pairs) append(bytes, blob(13, pair));
        return Subject(bytes, folder.path().string()).code();
    };
    CHECK(external("10", {}) == "accepted");
    CHECK(external("11", {}) == "ext.bounds");
    CHECK(external("4", {string_entry("offset", "7")}) == "ext.bounds");
    CHECK(external("4", {string_entry("offset", "18446744073709551615")}) == "ext.bounds");
    CHECK(external("4", {string_entry("offset", "18446744073709551612")}) == "ext.bounds");
    CHECK(external("0", {string_entry("offset", "10")}) == "accepted");
    CHECK(external("0", {string_entry("offset", "11")}) == "ext.bounds");
    CHECK(external("4", {string_entry("length", "5")}) == "ext.length");
    CHECK(external("4", {string_entry("length", "3")}) == "ext.length");
    CHECK(external("4", {string_entry("length", "0")}) == "accepted");
    CHECK(external("9223372036854775807", {}) == "ext.bounds");
}

TEST_CASE("payload: bytes as stored for listings") {
    const auto stored = [](const Bytes& bytes) {
        const Subject subject(bytes);
        return tensor::stored_nbytes(subject.message, subject.header);
    };
    CHECK(stored(join(kFloatPair, blob(9, Bytes(5)))) == 5);
    CHECK(stored(join(kFloatPair, packed(4, {}))) == 8);
    CHECK(stored(external_tensor("e", "w.bin", 0, 4)) == 4);
    CHECK(stored(join(scalar(2, 8), blob(6, "abc"), blob(6, ""), blob(6, "de"))) == 5);
    CHECK(stored(join(scalar(1, UINT64_MAX), scalar(2, 1))) == 0);
    CHECK(stored(scalar(2, 99)) == 0);
    // Elements that can be counted, and bytes that cannot.
    CHECK(stored(join(scalar(1, (1ULL << 62) + 1), scalar(2, 1))) == 0);
}

}  // namespace onnxmap::test
