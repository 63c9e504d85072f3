#include "tensor/typed_fields.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

enum : std::uint64_t {
    kFloat = 1,
    kUint8 = 2,
    kInt8 = 3,
    kInt32 = 6,
    kString = 8,
    kBool = 9,
    kFloat16 = 10,
    kDouble = 11,
    kComplex64 = 14,
    kComplex128 = 15,
};

// A tensor message of that type with those fields, and what the two functions make of it.
class Subject {
  public:
    Subject(std::uint64_t data_type, const Bytes& fields)
        : bytes_(join(scalar(2, data_type), blob(8, "t"), fields)),
          message_(onnx::message<"TensorProto">, bytes_) {
        tensor::read_header(message_, header_);
    }

    [[nodiscard]] std::string check(std::uint64_t count) const {
        return code_of([&] {
            tensor::check_typed_count(message_, header_, count);
            return 0;
        });
    }

    /// The decoded bytes; `nbytes` is the room, of exactly that size.
    [[nodiscard]] Bytes decode(std::uint64_t count, std::size_t nbytes) const {
        HeapCopy room{ByteView(Bytes(nbytes))};
        tensor::decode_typed(message_, header_, count, {room.data(), nbytes});
        return join(room.view());
    }

    [[nodiscard]] std::string decode_code(std::uint64_t count, std::size_t nbytes) const {
        return code_of([&] { return decode(count, nbytes); });
    }

    [[nodiscard]] std::vector<std::string_view> strings(std::uint64_t count) const {
        return tensor::decode_strings(message_, header_, count);
    }

  private:
    Bytes bytes_;
    onnx::Message message_;
    tensor::Header header_;
};

}  // namespace

TEST_CASE("typed_fields: values in one packed run and in several and unpacked") {
    const Bytes expected = from_hex("0000803f 00000040 0100807f");
    const Bytes forms[] = {
        blob(4, expected),
        join(fixed32(4, 0x3f800000), fixed32(4, 0x40000000), fixed32(4, 0x7f800001)),
        join(blob(4, from_hex("0000803f")), scalar(999, 1), blob(4, Bytes{}),
             fixed32(4, 0x40000000), blob(4, from_hex("0100807f"))),
    };
    for (const Bytes& form : forms) {
        const Subject subject(kFloat, form);
        CHECK(subject.check(3) == "accepted");
        CHECK(subject.decode(3, 12) == expected);
    }
}

TEST_CASE("typed_fields: narrow types from int32_data") {
    CHECK(Subject(kUint8, packed(5, {0, 1, 255})).decode(3, 3) == Bytes{0, 1, 255});
    CHECK(Subject(kInt8, packed(5, {127, UINT64_MAX})).decode(2, 2) == Bytes{127, 255});
    CHECK(Subject(kFloat16, packed(5, {0x3c00, 0xfc00})).decode(2, 4) == from_hex("003c00fc"));
    CHECK(Subject(kBool, packed(5, {0, 1})).decode(2, 2) == Bytes{0, 1});
    CHECK(Subject(kInt32, packed(5, {UINT64_MAX, (1ULL << 32) + 7})).decode(2, 8) ==
          from_hex("ffffffff07000000"));
}

TEST_CASE("typed_fields: values that do not fit their type") {
    const auto code = [](std::uint64_t type, std::uint64_t value, std::size_t width) {
        return Subject(type, scalar(5, value)).decode_code(1, width);
    };
    const auto negative = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    CHECK(code(kUint8, 300, 1) == "tensor.value_range");
    CHECK(code(kUint8, 256, 1) == "tensor.value_range");
    CHECK(code(kUint8, negative(-128), 1) == "accepted");  // as onnx has written packed bytes
    CHECK(code(kUint8, negative(-129), 1) == "tensor.value_range");
    CHECK(code(kFloat16, 65535, 2) == "accepted");
    CHECK(code(kFloat16, 70000, 2) == "tensor.value_range");
    CHECK(code(kFloat16, negative(-32768), 2) == "accepted");
    CHECK(code(kFloat16, negative(-32769), 2) == "tensor.value_range");
    CHECK(code(kInt32, negative(INT32_MIN), 4) == "accepted");
}

TEST_CASE("typed_fields: complex elements are two values") {
    const Subject pairs(kComplex64, blob(4, Bytes(16, 1)));
    CHECK(pairs.check(2) == "accepted");
    CHECK(pairs.decode(2, 16) == Bytes(16, 1));
    CHECK(Subject(kComplex64, blob(4, Bytes(12))).check(2) == "tensor.data_size");
    const Subject wide(kComplex128, join(fixed64(10, 1), fixed64(10, 2)));
    CHECK(wide.check(1) == "accepted");
    CHECK(wide.decode(1, 16) == join(little_endian(1, 8), little_endian(2, 8)));
}

TEST_CASE("typed_fields: one value too few or too many") {
    const Subject three(kDouble, blob(10, Bytes(24)));
    CHECK(three.check(3) == "accepted");
    for (const std::uint64_t count : {2ULL, 4ULL, 0ULL, 1ULL << 50}) {
        CHECK(three.check(count) == "tensor.data_size");
    }
    CHECK(three.decode_code(2, 16) == "tensor.data_size");
    CHECK(three.decode_code(4, 32) == "tensor.data_size");
    CHECK(Subject(kInt32, {}).check(1) == "tensor.data_size");
    CHECK(Subject(kInt32, {}).check(0) == "accepted");
    // Values are counted, not bytes: the varints are of several lengths.
    CHECK(Subject(kInt32, packed(5, {1, 300, UINT64_MAX})).check(3) == "accepted");
}

TEST_CASE("typed_fields: values in another type's field") {
    const Subject misplaced(kFloat, packed(5, {1}));
    CHECK(misplaced.check(1) == "tensor.wrong_field");
    CHECK(misplaced.decode_code(1, 4) == "tensor.wrong_field");
    CHECK(code_of([] { return Subject(kString, packed(5, {1})).strings(1); }) ==
          "tensor.wrong_field");
}

TEST_CASE("typed_fields: strings are bytes of any kind") {
    const Subject texts(kString, join(blob(6, "a"), blob(6, ""), blob(6, from_hex("fffe00"))));
    CHECK(texts.strings(3) ==
          std::vector<std::string_view>{"a", "", std::string_view("\xff\xfe\0", 3)});
    CHECK(code_of([&] { return texts.strings(2); }) == "tensor.data_size");
    CHECK(code_of([&] { return texts.strings(4); }) == "tensor.data_size");
}

}  // namespace onnxmap::test
