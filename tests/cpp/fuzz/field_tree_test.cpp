// The tree of fields that the mutator changes. Written unchanged, it gives the same bytes.
#include <doctest/doctest.h>

#include <random>

#include "fuzz/field_tree.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using Kind = fuzz::Field::Kind;

std::vector<fuzz::Field> read(const Bytes& bytes) {
    return fuzz::read_fields(bytes, &onnx::message<"ModelProto">);
}

Bytes written_again(const Bytes& bytes) { return fuzz::write_fields(read(bytes)); }

}  // namespace

TEST_CASE("field tree: a model has the fields of the schema at every level") {
    const auto fields = read(blob(7, blob(5, join(blob(8, "w"), blob(4, Bytes(8, 0))))));
    REQUIRE(fields.size() == 1);
    CHECK(fields[0].table == &onnx::message<"GraphProto">);
    REQUIRE(fields[0].fields.size() == 1);
    const fuzz::Field& tensor = fields[0].fields[0];
    CHECK(tensor.table == &onnx::message<"TensorProto">);
    REQUIRE(tensor.fields.size() == 2);
    CHECK(tensor.fields[0].bytes == from_text("w"));
    CHECK(tensor.fields[1].kind == Kind::bytes);
    CHECK(tensor.fields[1].bytes.size() == 8);
}

TEST_CASE("field tree: the content of an unknown field decides whether it is a message") {
    const auto fields =
        fuzz::read_fields(join(blob(1, scalar(3, 5)), blob(2, "\x07\x07"), blob(3, "")), nullptr);
    REQUIRE(fields.size() == 3);
    CHECK(fields[0].kind == Kind::message);
    CHECK(fields[0].fields[0].value == 5);
    CHECK(fields[1].kind == Kind::bytes);
    CHECK(fields[2].kind == Kind::bytes);
}

TEST_CASE("field tree: groups, their ends and bytes without a tag are kept") {
    const Bytes closed = from_hex("0b 0801 0c");
    const Bytes mismatched = from_hex("0b 0801 14");
    const Bytes open = from_hex("0b 0801");
    CHECK(read(closed)[0].closed);
    CHECK(read(mismatched)[0].end_number == 2);
    CHECK_FALSE(read(open)[0].closed);
    CHECK(read(from_hex("0e01"))[0].kind == Kind::raw);        // wire type 6
    CHECK(read(from_hex("0c 0801"))[0].kind == Kind::raw);     // a stray end
    CHECK(read(from_hex("0c 0801"))[1].kind == Kind::varint);  // and more bytes
    for (const Bytes& bytes : {closed, mismatched, open}) CHECK(written_again(bytes) == bytes);
}

TEST_CASE("field tree: over-long varints and wrong lengths are written as they were") {
    for (const char* hex : {"8800 8100", "888080808000 01", "0a 8500 0102030405",
                            "08 ffffffffffffffffff7f", "08 ffffffffffffffffff01", "0a 05 0102",
                            "0a ffffffffffffffffff01 00", "8b00 8c8000", "0a 8080808010 01"}) {
        CHECK(written_again(from_hex(hex)) == from_hex(hex));
    }
}

TEST_CASE("field tree: any bytes are written as they were read") {
    std::mt19937_64 random(3);
    const Bytes samples[] = {tiny_model(), varied_model(), {}};
    for (int round = 0; round < 5'000; ++round) {
        Bytes bytes = samples[random() % 3];
        if (bytes.empty()) bytes.resize(random() % 40);
        for (std::uint64_t changes = random() % 20; changes > 0 && !bytes.empty(); --changes) {
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        }
        REQUIRE(written_again(bytes) == bytes);
        REQUIRE(fuzz::write_fields(fuzz::read_fields(bytes, nullptr)) == bytes);
    }
}

TEST_CASE("field tree: a hundred thousand groups need no deep stack") {
    const Bytes groups(100'000, 0x0b);
    CHECK(written_again(groups) == groups);
}

TEST_CASE("field tree: the values of a packed run are found") {
    const auto& longs = onnx::field<"TensorProto.int64_data">;
    const auto& doubles = onnx::field<"TensorProto.double_data">;
    const Bytes run = join(varint(300), varint(UINT64_MAX), varint(1, 3), Bytes{0x80});
    CHECK(fuzz::read_run(run, longs) == std::vector<std::uint64_t>{300, UINT64_MAX, 1});
    CHECK(fuzz::read_run(join(little_endian(7, 8), Bytes(3, 1)), doubles) ==
          std::vector<std::uint64_t>{7});
}

}  // namespace onnxmap::test
