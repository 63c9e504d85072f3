#include "tensor/values.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "model/load.hpp"
#include "model/tensor.hpp"
#include "one_tensor.hpp"
#include "sample_models.hpp"
#include "slow_kernels.hpp"
#include "temporary_folder.hpp"
#include "type_codes.hpp"

namespace onnxmap::test {

namespace {

std::uint64_t negative(std::int64_t value) { return static_cast<std::uint64_t>(value); }

Bytes tensor_bytes(std::uint64_t data_type, std::uint64_t count, const Bytes& fields) {
    return join(scalar(1, count), scalar(2, data_type), blob(8, "t"), fields);
}

Bytes read(std::uint64_t data_type, std::uint64_t count, const Bytes& fields) {
    return OneTensor(tensor_bytes(data_type, count, fields)).read();
}

// The code of the error of finding and counting the values.
std::string code(std::uint64_t data_type, std::uint64_t count, const Bytes& fields) {
    return OneTensor(tensor_bytes(data_type, count, fields)).code();
}

std::string read_code(std::uint64_t data_type, std::uint64_t count, const Bytes& fields) {
    return OneTensor(tensor_bytes(data_type, count, fields)).read_code();
}

using Strings = std::vector<std::string>;

Strings strings_of(const tensor::Values& values) {
    Strings texts;
    values.for_each_string([&](std::uint64_t i, std::string_view text) {
        REQUIRE(i == texts.size());
        texts.emplace_back(text);
    });
    return texts;
}

}  // namespace

TEST_CASE("values: typed data in one packed run, in several runs, and unpacked") {
    const Bytes expected = from_hex("0000803f 00000040 0100807f");
    const Bytes forms[] = {
        blob(4, expected),
        join(fixed32(4, 0x3f800000), fixed32(4, 0x40000000), fixed32(4, 0x7f800001)),
        join(blob(4, from_hex("0000803f")), scalar(999, 1), blob(4, Bytes{}),
             fixed32(4, 0x40000000), blob(4, from_hex("0100807f"))),
    };
    for (const Bytes& form : forms) {
        CHECK(code(kFloat, 3, form) == "accepted");
        CHECK(read(kFloat, 3, form) == expected);
        CHECK(OneTensor(tensor_bytes(kFloat, 3, form)).read_packed() == expected);
    }
}

TEST_CASE("values: every type is read from its typed field") {
    CHECK(read(kUint8, 3, packed(5, {0, 1, 255})) == Bytes{0, 1, 255});
    CHECK(read(kInt8, 2, packed(5, {127, UINT64_MAX})) == Bytes{127, 255});
    CHECK(read(kFloat16, 2, packed(5, {0x3c00, 0xfc00})) == from_hex("003c00fc"));
    CHECK(read(kBool, 2, packed(5, {0, 1})) == Bytes{0, 1});
    CHECK(read(kInt32, 2, packed(5, {UINT64_MAX, (1ULL << 32) + 7})) ==
          from_hex("ffffffff07000000"));
    CHECK(read(kInt64, 2, packed(7, {UINT64_MAX, 1})) ==
          from_hex("ffffffffffffffff 0100000000000000"));
    CHECK(read(kUint32, 2, packed(11, {UINT32_MAX, 1})) == from_hex("ffffffff 01000000"));
    CHECK(read(kUint64, 1, packed(11, {UINT64_MAX})) == from_hex("ffffffffffffffff"));
    CHECK(read(kDouble, 2, join(fixed64(10, 1), fixed64(10, 2))) ==
          join(little_endian(1, 8), little_endian(2, 8)));
}

TEST_CASE("values: sub-byte elements share entries of int32_data, except float6") {
    // An entry has two elements of 4 bits, or four of 2 bits. The first is in the lowest bits.
    const Bytes int4 = packed(5, {0x21, negative(-1), 0x07});
    CHECK(read(kInt4, 5, int4) == from_hex("01020f0f07"));
    CHECK(read(kUint4, 6, int4) == from_hex("01020f0f0700"));
    CHECK(read(kInt2, 9, packed(5, {0xe4, 0xff, 2})) == from_hex("00010203 03030303 02"));
    CHECK(read(kUint2, 1, scalar(5, 0xff)) == Bytes{3});
    CHECK(read(kFloat6, 3, packed(5, {0, 63, 32})) == Bytes{0, 63, 32});
    // In the layout of raw_data. Bits of the last entry behind the last element are dropped.
    const auto repacked = [](std::uint64_t type, std::uint64_t count, const Bytes& fields) {
        return OneTensor(tensor_bytes(type, count, fields)).read_packed();
    };
    CHECK(repacked(kInt4, 5, int4) == from_hex("21ff07"));
    CHECK(repacked(kInt4, 1, scalar(5, 0xff)) == from_hex("0f"));
    CHECK(repacked(kUint2, 5, packed(5, {0xe4, 0xff})) == from_hex("e403"));
    CHECK(repacked(kFloat6, 3, packed(5, {1, 63, 2})) == from_hex("c12f00"));
    // The entries are counted. Each must be a signed or unsigned byte.
    for (const std::uint64_t count : {3ULL, 4ULL, 7ULL, 1ULL << 40}) {
        CHECK(code(kInt4, count, int4) == "tensor.data_size");
    }
    CHECK(code(kUint2, 4, packed(5, {1, 2})) == "tensor.data_size");
    CHECK(code(kUint2, 5, packed(5, {1, 2})) == "accepted");
    CHECK(code(kFloat6, 2, scalar(5, 1)) == "tensor.data_size");
    CHECK(code(kInt4, 0, {}) == "accepted");
    for (const std::uint64_t type : {kInt4, kUint4, kInt2, kUint2}) {
        CHECK(read_code(type, 1, scalar(5, 255)) == "accepted");
        CHECK(read_code(type, 1, scalar(5, negative(-128))) == "accepted");
        CHECK(read_code(type, 1, scalar(5, 256)) == "tensor.value_range");
        CHECK(read_code(type, 1, scalar(5, negative(-129))) == "tensor.value_range");
    }
    CHECK(read_code(kFloat6, 1, scalar(5, 63)) == "accepted");
    CHECK(read_code(kFloat6, 1, scalar(5, 64)) == "tensor.value_range");
    CHECK(read_code(kFloat6, 1, scalar(5, negative(-1))) == "tensor.value_range");
}

TEST_CASE("values: typed data out of the range of their type are refused") {
    const auto one = [](std::uint64_t type, std::uint64_t value) {
        return read_code(type, 1, scalar(type == kUint32 ? 11 : 5, value));
    };
    CHECK(one(kUint8, 300) == "tensor.value_range");
    CHECK(one(kUint8, 256) == "tensor.value_range");
    CHECK(one(kUint8, negative(-128)) == "accepted");  // onnx has written packed bytes like this
    CHECK(one(kUint8, negative(-129)) == "tensor.value_range");
    CHECK(one(kFloat16, 65535) == "accepted");
    CHECK(one(kFloat16, 70000) == "tensor.value_range");
    CHECK(one(kFloat16, negative(-32768)) == "accepted");
    CHECK(one(kFloat16, negative(-32769)) == "tensor.value_range");
    CHECK(one(kInt32, negative(INT32_MIN)) == "accepted");
    CHECK(one(kUint32, UINT32_MAX) == "accepted");
    CHECK(one(kUint32, 1ULL << 32) == "tensor.value_range");
    const auto error = error_of([] { return read(kUint8, 1, scalar(5, 300)); });
    REQUIRE(error);
    CHECK(error->tensor == "t");
}

TEST_CASE("values: a complex element is two values") {
    const Bytes pairs = blob(4, Bytes(16, 1));
    CHECK(code(kComplex64, 2, pairs) == "accepted");
    CHECK(read(kComplex64, 2, pairs) == Bytes(16, 1));
    CHECK(code(kComplex64, 2, blob(4, Bytes(12))) == "tensor.data_size");
    const Bytes parts = join(fixed32(4, 1), fixed32(4, 2), fixed32(4, 3));
    CHECK(code(kComplex64, 1, parts) == "tensor.data_size");
    CHECK(code(kComplex64, 2, parts) == "tensor.data_size");
    const Bytes wide = join(fixed64(10, 1), fixed64(10, 2));
    CHECK(code(kComplex128, 1, wide) == "accepted");
    CHECK(read(kComplex128, 1, wide) == join(little_endian(1, 8), little_endian(2, 8)));
    CHECK(read(kComplex128, 1, blob(10, join(little_endian(1, 8), little_endian(2, 8)))) ==
          join(little_endian(1, 8), little_endian(2, 8)));
}

TEST_CASE("values: a wrong number of values is refused before memory is allocated") {
    const Bytes run = blob(10, Bytes(24));
    const Bytes one_by_one = join(fixed64(10, 1), fixed64(10, 2), fixed64(10, 3));
    for (const Bytes& three : {run, one_by_one}) {
        CHECK(code(kDouble, 3, three) == "accepted");
        for (const std::uint64_t count : {2ULL, 4ULL, 0ULL, 1ULL << 50}) {
            CHECK(code(kDouble, count, three) == "tensor.data_size");
            CHECK(read_code(kDouble, count, three) == "tensor.data_size");
        }
    }
    CHECK(code(kInt32, 1, {}) == "tensor.data_size");
    CHECK(code(kInt32, 0, {}) == "accepted");
    CHECK(code(kInt64, 1ULL << 59, packed(7, {1, 2})) == "tensor.data_size");
    // Values are counted, not bytes: the varints have different lengths.
    CHECK(code(kInt32, 3, packed(5, {1, 300, UINT64_MAX})) == "accepted");
    const auto error =
        error_of([] { return OneTensor(tensor_bytes(kInt32, 3, {})).values().count(); });
    REQUIRE(error);
    CHECK(std::string(error->what()).find("expected 3 values, found 0") != std::string::npos);
}

TEST_CASE("values: typed data in the field of another type are refused") {
    const Bytes misplaced = packed(5, {1});
    CHECK(code(kFloat, 1, misplaced) == "tensor.wrong_field");
    CHECK(read_code(kFloat, 1, misplaced) == "tensor.wrong_field");
    CHECK(code(kString, 1, misplaced) == "tensor.wrong_field");
    CHECK(code(kInt32, 1, blob(6, "text")) == "tensor.wrong_field");
    CHECK(code(kUint32, 1, packed(5, {1})) == "tensor.wrong_field");
}

TEST_CASE("values: strings may be any bytes") {
    const Bytes fields = join(blob(6, "a"), blob(6, ""), blob(6, from_hex("fffe00")));
    const OneTensor three(tensor_bytes(kString, 3, fields));
    CHECK(strings_of(three.values()) == Strings{"a", "", std::string("\xff\xfe\0", 3)});
    CHECK(code(kString, 2, fields) == "tensor.data_size");
    CHECK(code(kString, 4, fields) == "tensor.data_size");
    CHECK(code(kString, 1ULL << 59, fields) == "tensor.data_size");
    // Also if the caller has not counted them before.
    const OneTensor two(tensor_bytes(kString, 2, fields));
    const tensor::Values uncounted(two.message, two.header, two.store, source::now());
    CHECK(code_of([&] { return strings_of(uncounted); }) == "tensor.data_size");
    CHECK(uncounted.payload() == nullptr);
    CHECK_FALSE(uncounted.is_view());
}

TEST_CASE("values: raw, external and single runs are payload, only whole bytes are a view") {
    const TemporaryFolder folder;
    folder.write("w.bin", "0123456789");
    const auto facts = [](const OneTensor& tensor) {
        const tensor::Values values = tensor.values();
        return std::pair(values.payload() != nullptr, values.is_view());
    };
    const std::pair view(true, true);
    const std::pair bytes_alone(true, false);
    const std::pair decoded(false, false);
    CHECK(facts(OneTensor(raw_tensor("r", {1, 2}))) == view);
    CHECK(facts(OneTensor(tensor_bytes(kInt4, 2, blob(9, Bytes{0x21})))) == bytes_alone);
    CHECK(facts(OneTensor(tensor_bytes(kFloat, 1, blob(4, Bytes(4))))) == view);
    CHECK(facts(OneTensor(tensor_bytes(kFloat, 1, fixed32(4, 1)))) == decoded);
    CHECK(facts(OneTensor(tensor_bytes(kInt32, 1, packed(5, {1})))) == decoded);
    const Bytes external = external_tensor("e", "w.bin", 3, 4);
    const std::string root = folder.path().string();
    CHECK(facts(OneTensor(external, root, source::IoMode::mmap)) == view);
    CHECK(facts(OneTensor(external, root, source::IoMode::read)) == bytes_alone);
    for (const auto mode : {source::IoMode::mmap, source::IoMode::read}) {
        CHECK(OneTensor(external, root, mode).read() == from_text("3456"));
        CHECK(OneTensor(external, root, mode).read_packed() == from_text("3456"));
    }
}

TEST_CASE("values: unused bits of the last byte") {
    const auto padded = [](std::uint64_t type, std::uint64_t count, const char* hex) {
        return OneTensor(tensor_bytes(type, count, blob(9, from_hex(hex))));
    };
    // In float6 they must be zero. Three elements leave six unused bits, one element leaves two.
    CHECK(padded(kFloat6, 3, "c12f00").read_code() == "accepted");
    CHECK(padded(kFloat6, 3, "c12f04").read_code() == "tensor.padding");
    CHECK(padded(kFloat6, 3, "c12f80").read_code() == "tensor.padding");
    CHECK(padded(kFloat6, 3, "c12f03").read_code() == "accepted");  // bits of the third element
    CHECK(padded(kFloat6, 1, "3f").read_code() == "accepted");
    CHECK(padded(kFloat6, 1, "40").read_code() == "tensor.padding");
    CHECK(padded(kFloat6, 2, "ff0f").read_code() == "accepted");
    CHECK(padded(kFloat6, 2, "ff1f").read_code() == "tensor.padding");
    CHECK(padded(kFloat6, 4, "ffffff").read_code() == "accepted");  // no unused bits
    CHECK(code_of([&] { return padded(kFloat6, 3, "c12f80").read_packed(); }) == "tensor.padding");
    // In integers they may have any value. Values do not show them, and stored bytes keep them.
    CHECK(padded(kInt4, 3, "21f7").read() == from_hex("010207"));
    CHECK(padded(kInt4, 3, "21f7").read_packed() == from_hex("21f7"));
    CHECK(padded(kUint2, 1, "ff").read() == Bytes{3});
}

TEST_CASE("values: typed data are decoded from a file that is read piece by piece") {
    // The structure pass skips values of this size, so they are in memory only after a request.
    const TemporaryFolder folder;
    const Bytes half(600'000, 0x42);
    const auto values_of = [&](const Bytes& fields, std::uint64_t type, std::uint64_t count) {
        const std::string path = folder.write(
            "m.onnx", ByteView(model(join(blob(2, "g"), blob(5, tensor_bytes(type, count, fields)),
                                          blob(2, "g")))));
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        return model::load_file(path, source::IoMode::read, options);
    };
    const auto initializer = [](const model::Document& document) {
        const auto graph = *document.child(document.root(), onnx::field<"ModelProto.graph">);
        return onnx::Message(
            onnx::message<"TensorProto">,
            document.index(graph)->at(onnx::field<"GraphProto.initializer">, 0).bytes);
    };
    {
        const auto document = values_of(join(blob(4, half), blob(4, half)), kFloat, 300'000);
        tensor::Values values = model::Tensor(*document, initializer(*document)).values();
        values.check_count();
        Bytes out(1'200'000);
        values.read(tensor::Conversion::none(values.type()), out);
        CHECK(out == join(half, half));
    }
    {
        const std::string text(600'000, 'x');
        const auto document = values_of(join(blob(6, text), blob(6, text)), kString, 2);
        tensor::Values values = model::Tensor(*document, initializer(*document)).values();
        values.check_count();
        CHECK(strings_of(values) == Strings{text, text});
    }
    {
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.scan_packed = false;  // loading does not judge the run
        const auto path = folder.write(
            "lazy.onnx",
            ByteView(model(join(blob(5, tensor_bytes(kUint8, 600'000, blob(5, half)))))));
        const auto document = model::load_file(path, source::IoMode::read, options);
        tensor::Values values = model::Tensor(*document, initializer(*document)).values();
        values.check_count();
        Bytes out(600'000);
        values.read(tensor::Conversion::none(values.type()), out);
        CHECK(out == half);
    }
}

}  // namespace onnxmap::test
