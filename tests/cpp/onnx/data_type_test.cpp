#include "onnx/data_type.hpp"

#include <doctest/doctest.h>

#include <string>

#include "onnx/schema.hpp"

namespace onnxmap::test {

TEST_CASE("data_type: each type has its number, and other numbers have no type") {
    std::int32_t next = 1;
    for (const onnx::DataTypeInfo& info : onnx::data_types()) {
        CHECK(static_cast<std::int32_t>(info.type) == next);
        CHECK(onnx::find_data_type(next++) == &info);
    }
    CHECK(next == 29);
    for (const std::int32_t number : {0, -1, 29, 99, INT32_MIN, INT32_MAX}) {
        CHECK(onnx::find_data_type(number) == nullptr);
    }
}

TEST_CASE("data_type: the names are those of the enum in the schema") {
    const auto& values = onnx::kSchema.enums;
    for (const wire::EnumTable& table : values) {
        if (table.name != "TensorProto.DataType") continue;
        CHECK(table.values.size() == onnx::data_types().size() + 1);
        CHECK(table.find(0)->name == "UNDEFINED");
        for (const onnx::DataTypeInfo& info : onnx::data_types()) {
            const wire::EnumValue* value = table.find(static_cast<std::int32_t>(info.type));
            REQUIRE(value != nullptr);
            CHECK(value->name == info.name);
        }
        return;
    }
    FAIL("the schema has no TensorProto.DataType");
}

TEST_CASE("data_type: widths and typed fields are those of onnx.proto") {
    using enum onnx::DataType;
    struct Fact {
        onnx::DataType type;
        std::uint32_t bits;
        const char* storage;
    };
    const Fact facts[] = {
        {FLOAT, 32, "float_data"},     {COMPLEX64, 64, "float_data"},
        {DOUBLE, 64, "double_data"},   {COMPLEX128, 128, "double_data"},
        {INT64, 64, "int64_data"},     {UINT32, 32, "uint64_data"},
        {UINT64, 64, "uint64_data"},   {STRING, 0, "string_data"},
        {BOOL, 8, "int32_data"},       {FLOAT16, 16, "int32_data"},
        {BFLOAT16, 16, "int32_data"},  {FLOAT8E8M0, 8, "int32_data"},
        {INT4, 4, "int32_data"},       {UINT2, 2, "int32_data"},
        {FLOAT6E2M3, 6, "int32_data"}, {INT32, 32, "int32_data"},
    };
    for (const Fact& fact : facts) {
        const onnx::DataTypeInfo* info = onnx::find_data_type(static_cast<std::int32_t>(fact.type));
        REQUIRE(info != nullptr);
        CAPTURE(std::string(info->name));
        CHECK(info->bits == fact.bits);
        CHECK(info->storage->name == fact.storage);
        CHECK(info->fixed_width() == (fact.bits >= 8));
        CHECK(info->sub_byte() == (fact.bits > 0 && fact.bits < 8));
        CHECK(info->itemsize() == (info->sub_byte() ? 1 : fact.bits / 8));  // as an array has them
        const bool complex = fact.type == COMPLEX64 || fact.type == COMPLEX128;
        CHECK(info->parts() == (complex ? 2 : 1));
        CHECK(&onnx::data_type(fact.type) == info);
    }
}

}  // namespace onnxmap::test
