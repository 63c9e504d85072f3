#include "tensor/payload.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "caught.hpp"
#include "one_tensor.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

// The payload's bytes; otherwise the Error is thrown.
tensor::Payload find(OneTensor& subject) {
    const std::uint64_t count = tensor::check_storage(subject.header, subject.store);
    auto payload =
        tensor::find_payload(subject.message, subject.header, count, subject.store, source::now());
    REQUIRE(payload);
    return *payload;
}

std::string code(const Bytes& bytes) { return OneTensor(bytes).code(); }

const Bytes kFloatPair = join(scalar(1, 2), scalar(2, 1), blob(8, "w"));

}  // namespace

TEST_CASE("payload: raw data are a view of the stored bytes") {
    OneTensor subject(join(kFloatPair, blob(9, Bytes(8, 1))));
    const tensor::Payload payload = find(subject);
    CHECK(payload.source == subject.source);
    CHECK(payload.is_view());
    CHECK(payload.bytes().size() == 8);
    CHECK(payload.bytes().data() == subject.source->data() + payload.offset);
    CHECK(join(payload.bytes()) == Bytes(8, 1));
}

TEST_CASE("payload: the number of bytes must be exactly that of the shape") {
    for (const std::size_t nbytes : {0UL, 4UL, 7UL, 9UL, 12UL}) {
        const OneTensor subject(join(kFloatPair, blob(9, Bytes(nbytes))));
        const auto error = error_of([&] { return subject.values().count(); });
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
    // external_data does not count unless data_location is EXTERNAL.
    CHECK(code(join(kFloatPair, raw, blob(13, string_entry("location", "w.bin")))) == "accepted");
}

TEST_CASE("payload: tensors that have no payload") {
    CHECK(code(join(scalar(1, 1), blob(9, Bytes(4)))) == "tensor.dtype");
    CHECK(code(join(scalar(1, UINT64_MAX), scalar(2, 1))) == "tensor.negative_dim");
    const Bytes strings = join(scalar(1, 1), scalar(2, 8));
    CHECK(code(join(strings, blob(9, Bytes(8)))) == "tensor.string_raw");
    CHECK(code(join(strings, scalar(14, 1))) == "tensor.string_external");
    OneTensor one(join(strings, blob(6, "a")));
    CHECK(tensor::check_storage(one.header, one.store) == 1);
    CHECK_FALSE(tensor::find_payload(one.message, one.header, 1, one.store, source::now()));
}

TEST_CASE("payload: one run of fixed-width values is a view of the stored bytes") {
    const Bytes doubles = join(scalar(1, 2), scalar(2, 11));
    const Bytes complexes = join(scalar(1, 1), scalar(2, 14));
    const Bytes run = from_hex("0102030405060708");
    OneTensor floats(join(kFloatPair, blob(4, run)));
    const tensor::Payload payload = find(floats);
    CHECK(payload.source == floats.source);
    CHECK(payload.bytes().data() == floats.source->data() + payload.offset);
    CHECK(join(payload.bytes()) == run);
    const auto has_payload = [](const Bytes& bytes) {
        return OneTensor(bytes).values().payload() != nullptr;
    };
    CHECK(has_payload(join(doubles, blob(10, Bytes(16)))));
    CHECK(has_payload(join(complexes, blob(4, run))));
    // Empty runs beside it do not matter.
    CHECK(has_payload(join(kFloatPair, blob(4, Bytes{}), blob(4, run), blob(4, Bytes{}))));
    // Several runs, or a value outside of a run, must be joined.
    CHECK_FALSE(has_payload(join(kFloatPair, blob(4, Bytes(4)), blob(4, Bytes(4)))));
    CHECK_FALSE(has_payload(join(kFloatPair, blob(4, Bytes(4)), fixed32(4, 0))));
    CHECK_FALSE(has_payload(join(scalar(1, 1), scalar(2, 1), fixed32(4, 0))));
    // Varints are not the bytes of an array.
    CHECK_FALSE(has_payload(join(scalar(1, 2), scalar(2, 6), packed(5, {1, 2}))));
    // The values are counted. A complex element has two.
    CHECK(code(join(kFloatPair, blob(4, Bytes(12)))) == "tensor.data_size");
    CHECK(code(join(complexes, blob(4, Bytes(12)))) == "tensor.data_size");
    const auto error =
        error_of([&] { return OneTensor(join(kFloatPair, blob(4, Bytes(4)))).values(); });
    REQUIRE(error);
    CHECK(std::string(error->what()).find("expected 2 values, found 1") != std::string::npos);
}

TEST_CASE("payload: external bytes begin at their offset") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    OneTensor subject(external_tensor("e", "w.bin", 3, 4), folder.path().string());
    const tensor::Payload payload = find(subject);
    CHECK(as_text(payload.bytes()) == "3456");
    CHECK(payload.offset == 3);
    CHECK(payload.source->path() == folder / "w.bin");
    CHECK(payload.source == find(subject).source);
    // They may reach to the last byte of the file.
    CHECK(OneTensor(external_tensor("e", "w.bin", 6, 4), folder.path().string()).code() ==
          "accepted");
}

TEST_CASE("payload: external numbers that do not fit are refused") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    const auto external = [&](std::string_view dims, const std::vector<Bytes>& pairs) {
        Bytes bytes = join(scalar(1, std::stoull(std::string(dims))), scalar(2, 2), scalar(14, 1),
                           blob(13, string_entry("location", "w.bin")));
        for (const Bytes& pair : pairs) append(bytes, blob(13, pair));
        return OneTensor(bytes, folder.path().string()).code();
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

TEST_CASE("payload: the number of stored bytes, for listings") {
    const auto stored = [](const Bytes& bytes) {
        const OneTensor subject(bytes);
        return tensor::stored_nbytes(subject.message, subject.header);
    };
    CHECK(stored(join(kFloatPair, blob(9, Bytes(5)))) == 5);
    CHECK(stored(join(kFloatPair, packed(4, {}))) == 8);
    CHECK(stored(external_tensor("e", "w.bin", 0, 4)) == 4);
    CHECK(stored(join(scalar(2, 8), blob(6, "abc"), blob(6, ""), blob(6, "de"))) == 5);
    CHECK(stored(join(scalar(1, UINT64_MAX), scalar(2, 1))) == 0);
    CHECK(stored(scalar(2, 99)) == 0);
    // A segment stores its own elements, at most as many as the tensor has.
    const auto segment = [](std::uint64_t begin, std::uint64_t end) {
        return blob(3, join(scalar(1, begin), scalar(2, end)));
    };
    const Bytes floats = join(scalar(1, 10), scalar(2, 1));
    CHECK(stored(join(floats, segment(2, 5))) == 12);
    CHECK(stored(join(floats, segment(2, INT64_MAX))) == 40);
    CHECK(stored(join(floats, segment(5, 2))) == 0);
    // The elements can be counted in 64 bits, but their bytes cannot.
    CHECK(stored(join(scalar(1, (1ULL << 62) + 1), scalar(2, 1))) == 0);
}

}  // namespace onnxmap::test
