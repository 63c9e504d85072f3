#include "tensor/typed_fields.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::tensor {

namespace {

void check_field(const Header& header, const onnx::DataTypeInfo& type) {
    const std::uint32_t wanted = 1U << type.storage->number;
    if ((header.typed_fields & ~wanted) != 0) {
        fail(header, "tensor.wrong_field",
             std::string(type.name) + " values belong in " + std::string(type.storage->name));
    }
}

[[noreturn]] void fail_count(const Header& header, std::uint64_t expected, std::uint64_t found) {
    fail(header, "tensor.data_size",
         "expected " + std::to_string(expected) + " values, found " +
             (found > expected ? "more" : std::to_string(found)));
}

// A complex element is two values, real and imaginary part.
std::uint64_t values_per_element(const onnx::DataTypeInfo& type) noexcept {
    const bool complex =
        type.type == onnx::DataType::COMPLEX64 || type.type == onnx::DataType::COMPLEX128;
    return complex ? 2 : 1;
}

// onnx itself has written negative packed bytes, so both signs of a width are read.
bool fits(std::int32_t value, std::uint32_t bits) noexcept {
    if (bits == 32) return true;
    const std::int32_t half = 1 << (bits - 1);
    return value >= -half && value < 2 * half;
}

}  // namespace

void check_typed_count(const onnx::Message& message, const Header& header, std::uint64_t count) {
    const onnx::DataTypeInfo& type = element_type(header);
    check_field(header, type);
    const std::uint64_t expected = count * values_per_element(type);
    std::uint64_t found = 0;
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row != type.storage) return;
        if (field.type == row->wire_type()) {
            ++found;
        } else if (row->wire_type() == wire::WireType::varint) {
            found += wire::count_varints(field.bytes);
        } else {
            found += field.bytes.size() / (row->type == wire::Type::float32 ? 4 : 8);
        }
    });
    if (found != expected) fail_count(header, expected, found);
}

void decode_typed(const onnx::Message& message, const Header& header, std::uint64_t count,
                  std::span<std::uint8_t> out) {
    const onnx::DataTypeInfo& type = element_type(header);
    const wire::FieldRow& row = *type.storage;
    check_field(header, type);
    const std::uint64_t expected = count * values_per_element(type);
    const std::uint64_t width = type.itemsize() / values_per_element(type);
    std::uint64_t found = 0;
    message.for_each_value(row, [&](const wire::Field& value) {
        if (found == expected) fail_count(header, expected, found + 1);
        const bool in_range = row.type == wire::Type::int32         ? fits(value.int32(), type.bits)
                              : type.type == onnx::DataType::UINT32 ? value.value <= UINT32_MAX
                                                                    : true;
        if (!in_range) {
            fail(header, "tensor.value_range",
                 "a value is out of range for " + std::string(type.name));
        }
        std::memcpy(out.data() + found++ * width, &value.value, width);
    });
    if (found < expected) fail_count(header, expected, found);
}

std::vector<std::string_view> decode_strings(const onnx::Message& message, const Header& header,
                                             std::uint64_t count) {
    const onnx::DataTypeInfo& type = element_type(header);
    check_field(header, type);
    std::vector<std::string_view> texts;
    message.for_each_value(*type.storage,
                           [&](const wire::Field& value) { texts.push_back(value.text()); });
    if (texts.size() != count) fail_count(header, count, texts.size());
    return texts;
}

}  // namespace onnxmap::tensor
