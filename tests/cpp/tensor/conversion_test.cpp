#include "tensor/conversion.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "kernels/float_rounding.hpp"
#include "placed_bytes.hpp"
#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using enum onnx::DataType;
using tensor::Conversion;

const onnx::DataTypeInfo& info(onnx::DataType type) { return onnx::data_type(type); }

bool has_kernel(onnx::DataType from, onnx::DataType to) {
    return Conversion::find(info(from), info(to)).has_value();
}

// The float32 values of all elements, one after another.
Bytes float32_slowly(const onnx::DataTypeInfo& type, ByteView elements) {
    Bytes bytes;
    const std::size_t width = type.itemsize();
    for (std::size_t i = 0; i < elements.size(); i += width) {
        const std::uint32_t code =
            width == 1 ? elements[i] : elements[i] | std::uint32_t{elements[i + 1]} << 8;
        const std::uint32_t bits =
            type.type == FLOAT16    ? kernels::float16_to_float32(std::uint16_t(code))
            : type.type == BFLOAT16 ? code << 16
                                    : onnx::float32_bits(type.format, type.bits, code);
        append(bytes, little_endian(bits, 4));
    }
    return bytes;
}

Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
    Bytes bytes(size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

}  // namespace

TEST_CASE("conversion: which pairs of types have kernels") {
    const std::set<onnx::DataType> to_float32 = {
        FLOAT16,        BFLOAT16,   FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2,
        FLOAT8E5M2FNUZ, FLOAT8E8M0, FLOAT4E2M1,   FLOAT6E2M3,     FLOAT6E3M2,
        INT4,           UINT4,      INT2,         UINT2,          FLOAT};
    for (const onnx::DataTypeInfo& from : onnx::data_types()) {
        CAPTURE(std::string(from.name));
        CHECK(has_kernel(from.type, FLOAT) == to_float32.contains(from.type));
        for (const onnx::DataTypeInfo& to : onnx::data_types()) {
            if (to.type == FLOAT) continue;
            const bool narrows = from.type == FLOAT && (to.type == FLOAT16 || to.type == BFLOAT16);
            CHECK(has_kernel(from.type, to.type) == (&from == &to || narrows));
        }
    }
}

TEST_CASE(
    "conversion: without a change of type, elements are copied, or unpacked if they share bytes") {
    CHECK(Conversion::none(info(INT16)).is_copy());
    CHECK(Conversion::none(info(FLOAT8E5M2)).is_copy());
    CHECK_FALSE(Conversion::none(info(INT4)).is_copy());
    CHECK_FALSE(Conversion::find(info(FLOAT16), info(FLOAT))->is_copy());
    CHECK_FALSE(Conversion::find(info(FLOAT8E5M2), info(FLOAT))->is_copy());
    CHECK(Conversion::find(info(COMPLEX128), info(COMPLEX128))->is_copy());
    CHECK(&Conversion::none(info(INT4)).to() == &info(INT4));
    CHECK(&Conversion::find(info(INT4), info(FLOAT))->to() == &info(FLOAT));

    const Bytes bytes = from_hex("000102030405060708090a0b0c0d0e0f");
    Bytes out(16);
    Conversion::none(info(COMPLEX128)).stored(bytes.data(), 1, out.data());
    CHECK(out == bytes);
    out.assign(16, 0);
    Conversion::none(info(INT16)).elements(bytes.data(), 8, out.data());
    CHECK(out == bytes);
    Conversion::none(info(INT16)).stored(nullptr, 0, nullptr);
}

TEST_CASE("conversion: stored elements of every type become float32") {
    std::mt19937_64 random(1);
    GuardedPages from_pages(20'000);
    GuardedPages to_pages(80'000);
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        const auto conversion = Conversion::find(type, info(FLOAT));
        if (!conversion || type.type == FLOAT) continue;
        CAPTURE(std::string(type.name));
        // Sub-byte elements go through a buffer of 4096 codes.
        for (const std::size_t count : {0UL, 1UL, 3UL, 33UL, 4095UL, 4096UL, 4097UL, 9001UL}) {
            const Bytes stored = random_bytes(random, (count * type.bits + 7) / 8);
            const Bytes elements =
                type.sub_byte() ? unpack_slowly(stored, type.bits, count) : stored;
            std::uint8_t* to = to_pages.last(4 * count);
            conversion->stored(from_pages.place(stored).data(), count, to);
            REQUIRE(join(ByteView(to, 4 * count)) == float32_slowly(type, elements));
            // The same for elements that are unpacked already.
            conversion->elements(from_pages.place(elements).data(), count, to);
            REQUIRE(join(ByteView(to, 4 * count)) == float32_slowly(type, elements));
        }
    }
}

TEST_CASE("conversion: sub-byte elements are unpacked to a byte each") {
    std::mt19937_64 random(2);
    GuardedPages pages(4096);
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (!type.sub_byte()) continue;
        CAPTURE(std::string(type.name));
        for (std::size_t count = 0; count < 80; ++count) {
            const Bytes stored = random_bytes(random, (count * type.bits + 7) / 8);
            Bytes out(count);
            Conversion::none(type).stored(pages.place(stored).data(), count, out.data());
            REQUIRE(out == unpack_slowly(stored, type.bits, count));
        }
    }
}

TEST_CASE("conversion: float32 becomes a 16-bit type") {
    std::mt19937_64 random(3);
    const Bytes floats = random_bytes(random, 4 * 1001);
    for (const onnx::DataType to : {FLOAT16, BFLOAT16}) {
        Bytes expected;
        for (std::size_t i = 0; i < floats.size(); i += 4) {
            const std::uint32_t bits = floats[i] | std::uint32_t{floats[i + 1]} << 8 |
                                       std::uint32_t{floats[i + 2]} << 16 |
                                       std::uint32_t{floats[i + 3]} << 24;
            append(expected, little_endian(to == FLOAT16 ? kernels::float32_to_float16(bits)
                                                         : kernels::float32_to_bfloat16(bits),
                                           2));
        }
        Bytes out(expected.size());
        Conversion::find(info(FLOAT), info(to))->stored(floats.data(), 1001, out.data());
        CHECK(out == expected);
    }
}

}  // namespace onnxmap::test
