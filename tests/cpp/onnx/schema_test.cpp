#include "onnx/schema.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

namespace onnxmap::test {

using onnx::field;
using onnx::message;

TEST_CASE("schema: fields are found by number and by name") {
    for (const wire::MessageTable& table : onnx::kSchema.messages) {
        CAPTURE(std::string(table.name));
        CHECK(onnx::find_message(table.name) == &table);
        std::set<std::uint32_t> numbers;
        for (const wire::FieldRow& row : table.fields) {
            CHECK(table.find(row.number) == &row);
            CHECK(table.find(row.name) == &row);
            CHECK(numbers.insert(row.number).second);
        }
        for (std::uint32_t number = 0; number < 100; ++number) {
            CHECK((table.find(number) != nullptr) == numbers.contains(number));
        }
        CHECK(table.find((1U << 29) - 1) == nullptr);
        CHECK(table.find("no_such_field") == nullptr);
    }
    CHECK(onnx::find_message("NoProto") == nullptr);
}

TEST_CASE("schema: the name of a message or enum type leads to the type") {
    for (const wire::MessageTable& table : onnx::kSchema.messages) {
        for (const wire::FieldRow& row : table.fields) {
            if (row.is_message()) {
                CHECK(onnx::kSchema.message_of(row).name == row.type_name);
            } else if (row.type == wire::Type::enumeration) {
                CHECK(onnx::kSchema.enum_of(row).name == row.type_name);
            } else {
                CHECK(row.type_name.empty());
            }
            // protobuf packs only repeated numbers, and only singular fields are in a oneof.
            if (row.packed) CHECK(row.packable());
            if (!row.oneof.empty()) CHECK_FALSE(row.repeated());
        }
    }
}

TEST_CASE("schema: the field numbers are those of onnx.proto") {
    CHECK(field<"ModelProto.ir_version">.number == 1);
    CHECK(field<"ModelProto.graph">.number == 7);
    CHECK(field<"ModelProto.functions">.number == 25);
    CHECK(field<"GraphProto.initializer">.number == 5);
    CHECK(field<"GraphProto.sparse_initializer">.number == 15);
    CHECK(field<"NodeProto.domain">.number == 7);
    CHECK(field<"AttributeProto.type">.number == 20);
    CHECK(field<"AttributeProto.tp">.number == 14);
    CHECK(field<"TensorProto.raw_data">.number == 9);
    CHECK(field<"TensorProto.external_data">.number == 13);
    CHECK(field<"TensorProto.Segment.end">.number == 2);
    CHECK(field<"FunctionProto.since_version">.retired);
    CHECK_FALSE(field<"FunctionProto.name">.retired);
}

TEST_CASE("schema: which wire types a field accepts") {
    using wire::WireType;
    const auto& dims = field<"TensorProto.dims">;
    CHECK(dims.accepts(WireType::varint));
    CHECK(dims.accepts(WireType::length_delimited));
    CHECK_FALSE(dims.accepts(WireType::fixed64));
    const auto& floats = field<"AttributeProto.floats">;
    CHECK(floats.accepts(WireType::fixed32));
    CHECK(floats.accepts(WireType::length_delimited));
    CHECK_FALSE(floats.accepts(WireType::varint));
    const auto& ir_version = field<"ModelProto.ir_version">;
    CHECK(ir_version.accepts(WireType::varint));
    CHECK_FALSE(ir_version.accepts(WireType::length_delimited));
    const auto& strings = field<"AttributeProto.strings">;
    CHECK(strings.accepts(WireType::length_delimited));
    CHECK_FALSE(strings.accepts(WireType::varint));
    CHECK_FALSE(field<"ModelProto.graph">.accepts(WireType::start_group));
    CHECK(field<"TensorProto.double_data">.wire_type() == WireType::fixed64);
}

TEST_CASE("schema: enums are closed") {
    const auto& locations = onnx::kSchema.enum_of(field<"TensorProto.data_location">);
    CHECK(locations.find(1)->name == "EXTERNAL");
    CHECK(locations.find(2) == nullptr);
    CHECK(locations.find(-1) == nullptr);
}

}  // namespace onnxmap::test
