// Reads of raw values: in parts, converted, by several threads, from mappings and from files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "one_tensor.hpp"
#include "sample_models.hpp"
#include "sanitized.hpp"
#include "slow_kernels.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using enum onnx::DataType;
using tensor::Conversion;

const onnx::DataTypeInfo& float32() { return onnx::data_type(FLOAT); }

Bytes random_bytes(std::size_t size) {
    std::mt19937_64 random(size);
    Bytes bytes(size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

// Raw bytes of `count` elements. The unused bits of float6 are zero.
Bytes raw_bytes(const onnx::DataTypeInfo& type, std::size_t count) {
    Bytes bytes = random_bytes(tensor::packed_nbytes(count, type.bits));
    const std::size_t used = count * type.bits % 8;
    if (used != 0) bytes.back() &= static_cast<std::uint8_t>((1U << used) - 1);
    return bytes;
}

Bytes header_fields(const onnx::DataTypeInfo& type, std::size_t count) {
    return join(scalar(1, count), scalar(2, static_cast<std::uint64_t>(type.type)));
}

Bytes inline_tensor(const onnx::DataTypeInfo& type, std::size_t count, const Bytes& raw) {
    return join(header_fields(type, count), blob(9, raw));
}

// The tensor in a file, at an odd offset.
Bytes tensor_in_file(const TemporaryFolder& folder, const onnx::DataTypeInfo& type,
                     std::size_t count, const Bytes& raw) {
    folder.write("w.bin", ByteView(join(Bytes(3, 0xee), raw)));
    return join(header_fields(type, count), blob(13, string_entry("location", "w.bin")),
                blob(13, string_entry("offset", "3")), scalar(14, 1));
}

Bytes elements_slowly(const onnx::DataTypeInfo& type, std::size_t count, const Bytes& raw) {
    return type.sub_byte() ? unpack_slowly(raw, type.bits, count) : raw;
}

Bytes expected_float32(const onnx::DataTypeInfo& type, const Bytes& elements) {
    std::vector<Bytes> of_code;
    for (std::uint32_t code = 0; code < 1U << type.bits; ++code) {
        of_code.push_back(little_endian(onnx::float32_bits(type.format, type.bits, code), 4));
    }
    Bytes bytes;
    bytes.reserve(4 * elements.size());
    for (const std::uint8_t code : elements) append(bytes, of_code[code]);
    return bytes;
}

}  // namespace

TEST_CASE("values: every part of a small tensor can be read, from memory and from a file" *
          doctest::skip(kThreadSanitized)) {
    constexpr std::size_t kCount = 19;
    const TemporaryFolder folder;
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (type.bits == 0 || type.bits > 8) continue;
        CAPTURE(std::string(type.name));
        const Bytes raw = raw_bytes(type, kCount);
        const Bytes expected = elements_slowly(type, kCount, raw);
        const OneTensor in_memory(inline_tensor(type, kCount, raw));
        const OneTensor in_file(tensor_in_file(folder, type, kCount, raw), folder.path().string(),
                                source::IoMode::read);
        for (const OneTensor* tensor : {&in_memory, &in_file}) {
            const tensor::Values values = tensor->values();
            const Conversion conversion = Conversion::none(type);
            for (std::size_t begin = 0; begin <= kCount; ++begin) {
                for (std::size_t count = 0; begin + count <= kCount; ++count) {
                    HeapCopy room{ByteView(Bytes(count))};
                    values.read_part(begin, count, conversion, room.data());
                    REQUIRE(join(room.view()) == join(ByteView(expected).subspan(begin, count)));
                }
            }
            const auto to_float = Conversion::find(type, float32());
            if (!to_float) continue;
            const Bytes floats = expected_float32(type, expected);
            for (std::size_t begin = 0; begin <= kCount; ++begin) {
                for (std::size_t count = 0; begin + count <= kCount; ++count) {
                    HeapCopy room{ByteView(Bytes(4 * count))};
                    values.read_part(begin, count, *to_float, room.data());
                    REQUIRE(join(room.view()) ==
                            join(ByteView(floats).subspan(4 * begin, 4 * count)));
                }
            }
        }
    }
}

TEST_CASE("values: parts of elements of several bytes can be read") {
    const onnx::DataTypeInfo& type = onnx::data_type(INT64);
    const Bytes raw = raw_bytes(type, 9);
    const OneTensor tensor(inline_tensor(type, 9, raw));
    const tensor::Values values = tensor.values();
    Bytes out(16);
    values.read_part(5, 2, Conversion::none(type), out.data());
    CHECK(out == join(ByteView(raw).subspan(40, 16)));
}

TEST_CASE("values: no byte behind the last is read") {
    // raw_data is the last field, so its last byte is the last of the source.
    GuardedPages pages(4096);
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (!type.sub_byte()) continue;
        for (std::size_t count = 0; count < 70; ++count) {
            const Bytes raw = raw_bytes(type, count);
            const onnx::Message message(onnx::message<"TensorProto">,
                                        pages.place(inline_tensor(type, count, raw)));
            const tensor::Header header = tensor::read_header(message);
            REQUIRE(header.raw_data);
            Bytes out(count);
            Conversion::none(type).stored(header.raw_data->data(), count, out.data());
            REQUIRE(out == unpack_slowly(raw, type.bits, count));
        }
    }
}

TEST_CASE("values: several threads read large ones from memory, a mapping and a file") {
    const TemporaryFolder folder;
    const std::string root = folder.path().string();
    for (const onnx::DataType data_type : {FLOAT6E3M2, FLOAT4E2M1, UINT2, FLOAT8E5M2}) {
        // A race of one type is one of all. The oracle takes most of the time.
        if (kSanitized && data_type != FLOAT6E3M2) continue;
        const onnx::DataTypeInfo& type = onnx::data_type(data_type);
        // As float32 they are more than two ranges of 2 MiB and one read of 256 KiB. The count is
        // odd.
        const std::size_t count = 1'200'001;
        CAPTURE(std::string(type.name));
        const Bytes raw = raw_bytes(type, count);
        const Bytes expected = elements_slowly(type, count, raw);
        const Bytes floats = expected_float32(type, expected);
        const Bytes external = tensor_in_file(folder, type, count, raw);
        const OneTensor in_memory(inline_tensor(type, count, raw));
        const OneTensor mapped(external, root, source::IoMode::mmap);
        const OneTensor in_file(external, root, source::IoMode::read);
        for (const OneTensor* tensor : {&in_memory, &mapped, &in_file}) {
            const bool good = tensor->read() == expected && tensor->read(&float32()) == floats &&
                              tensor->read_packed() == raw;
            REQUIRE(good);
        }
    }
}

TEST_CASE("values: elements of whole bytes are copied without a change") {
    const TemporaryFolder folder;
    const onnx::DataTypeInfo& type = onnx::data_type(INT32);
    const Bytes raw = raw_bytes(type, 1'500'001);
    const Bytes external = tensor_in_file(folder, type, 1'500'001, raw);
    for (const source::IoMode mode : {source::IoMode::mmap, source::IoMode::read}) {
        const OneTensor tensor(external, folder.path().string(), mode);
        const bool good = tensor.read() == raw && tensor.read_packed() == raw;
        CHECK(good);
    }
}

TEST_CASE("values: typed data can be converted and packed, too" * doctest::skip(kThreadSanitized)) {
    const std::size_t count = 1'000'003;
    const onnx::DataTypeInfo& type = onnx::data_type(FLOAT8E4M3FN);
    const Bytes codes = random_bytes(count);
    Bytes run;
    for (const std::uint8_t code : codes) append(run, varint(code));
    const OneTensor tensor(join(header_fields(type, count), blob(5, run)));
    const bool good = tensor.read() == codes && tensor.read_packed() == codes &&
                      tensor.read(&float32()) == expected_float32(type, codes);
    CHECK(good);
    // Each entry has four elements. No block ends inside an entry, except the last one.
    const onnx::DataTypeInfo& uint2 = onnx::data_type(UINT2);
    const Bytes packed_bytes = raw_bytes(uint2, count);
    Bytes entries;
    for (const std::uint8_t byte : packed_bytes) append(entries, scalar(5, byte));
    const OneTensor small(join(header_fields(uint2, count), entries));
    const bool unpacked = small.read() == unpack_slowly(packed_bytes, 2, count) &&
                          small.read_packed() == packed_bytes;
    CHECK(unpacked);
}

TEST_CASE("values: a tensor without elements can be read") {
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (type.bits == 0) continue;
        CAPTURE(std::string(type.name));
        for (const Bytes& data : {Bytes{}, blob(9, Bytes{}), blob(type.storage->number, Bytes{})}) {
            const OneTensor tensor(join(header_fields(type, 0), data));
            CHECK(tensor.read().empty());
            CHECK(tensor.read_packed().empty());
        }
    }
}

}  // namespace onnxmap::test
