// Headers that are written and read. The tests in Python compare with the official library.
#include "safetensors/header.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "caught.hpp"

namespace onnxmap::test {

namespace {

using safetensors::Entry;

Entry entry(const char* name, onnx::DataType type, std::vector<std::uint64_t> shape,
            std::uint64_t begin, std::uint64_t end) {
    return {name, &onnx::data_type(type), std::move(shape), begin, end};
}

std::string json_of(const std::string& file) { return file.substr(safetensors::kLengthBytes); }

}  // namespace

TEST_CASE("header: what is written is read") {
    const std::vector<Entry> tensors = {entry("a", onnx::DataType::FLOAT, {2, 3}, 0, 24),
                                        entry("b\n", onnx::DataType::FLOAT4E2M1, {4}, 24, 26),
                                        entry("c", onnx::DataType::BOOL, {}, 26, 27)};
    const safetensors::Metadata metadata = R"({"k":"v","l":"\""})";
    for (const std::uint64_t alignment : {8U, 64U, 4096U}) {
        const std::string bytes = safetensors::header_bytes(tensors, metadata, alignment);
        CHECK(bytes.size() % alignment == 0);
        CHECK(safetensors::begins_file(as_bytes(bytes), bytes.size() + 27));
        CHECK(safetensors::json_nbytes(as_bytes(bytes), bytes.size()) == json_of(bytes).size());
        const safetensors::Header header = safetensors::parse_header(json_of(bytes), 27);
        CHECK(header.metadata == metadata);
        REQUIRE(header.tensors.size() == 3);
        CHECK(header.tensors[1].name == "b\n");
        CHECK(header.tensors[1].type->type == onnx::DataType::FLOAT4E2M1);
        CHECK(header.tensors[0].shape == tensors[0].shape);
    }
    CHECK(json_of(safetensors::header_bytes({}, {})) == "{}      ");
}

TEST_CASE("header: tensors must fill the data") {
    const auto code = [](const std::vector<Entry>& tensors, std::uint64_t nbytes) {
        const std::string bytes = safetensors::header_bytes(tensors, {});
        return code_of(
            [&] { static_cast<void>(safetensors::parse_header(json_of(bytes), nbytes)); });
    };
    const auto bytes = [](const char* name, std::uint64_t begin, std::uint64_t end) {
        return entry(name, onnx::DataType::UINT8, {end - begin}, begin, end);
    };
    CHECK(code({bytes("a", 0, 4), bytes("b", 4, 4), bytes("c", 4, 9)}, 9) == "accepted");
    CHECK(code({bytes("c", 4, 9), bytes("a", 0, 4)}, 9) == "accepted");  // in any order
    CHECK(code({bytes("a", 0, 4), bytes("b", 5, 9)}, 9) == "model.safetensors");
    CHECK(code({bytes("a", 0, 4), bytes("b", 3, 9)}, 9) == "model.safetensors");
    CHECK(code({bytes("a", 0, 4)}, 5) == "model.safetensors");
    CHECK(code({bytes("a", 0, 4)}, 3) == "model.safetensors");
    CHECK(code({entry("a", onnx::DataType::UINT8, {4}, 4, 0)}, 0) == "model.safetensors");
    CHECK(code({entry("a", onnx::DataType::FLOAT, {4}, 0, 4)}, 4) == "tensor.data_size");
    CHECK(code({entry("a", onnx::DataType::FLOAT, {1ULL << 40, 1ULL << 40}, 0, 4)}, 4) ==
          "tensor.size_overflow");
    CHECK(code({entry("a", onnx::DataType::FLOAT4E2M1, {3}, 0, 2)}, 2) == "model.safetensors");
}

TEST_CASE("header: lengths") {
    const auto code = [](std::uint64_t length, std::uint64_t file_nbytes) {
        std::string head(8, '\0');
        for (std::size_t i = 0; i < 8; ++i) head[i] = static_cast<char>(length >> 8 * i & 0xff);
        return code_of(
            [&] { static_cast<void>(safetensors::json_nbytes(as_bytes(head), file_nbytes)); });
    };
    CHECK(code(2, 10) == "accepted");
    CHECK(code(3, 10) == "model.safetensors");
    CHECK(code(100'000'000, 100'000'008) == "accepted");
    CHECK(code(100'000'001, 1ULL << 40) == "model.safetensors");
    CHECK(code(UINT64_MAX, UINT64_MAX) == "model.safetensors");
    CHECK(code_of([] { static_cast<void>(safetensors::json_nbytes({}, 0)); }) ==
          "model.safetensors");
}

TEST_CASE("header: every type of the format has its place") {
    std::vector<std::size_t> places;
    for (const onnx::DataTypeInfo& type : onnx::data_types()) {
        if (type.safetensors.empty()) continue;
        Entry each;
        each.type = &type;
        places.push_back(safetensors::order_of(each));
    }
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) CHECK(places[i] == i);
}

}  // namespace onnxmap::test
