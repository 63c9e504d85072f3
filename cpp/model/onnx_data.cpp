#include "model/onnx_data.hpp"

#include <array>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

using Fields = std::array<const wire::FieldRow*, 5>;

// By element type, from 1 on.
// Source: onnx-data.proto, SequenceProto.DataType and OptionalProto.DataType.
constexpr Fields kOfSequence = {
    &field<"SequenceProto.tensor_values">,   &field<"SequenceProto.sparse_tensor_values">,
    &field<"SequenceProto.sequence_values">, &field<"SequenceProto.map_values">,
    &field<"SequenceProto.optional_values">,
};
constexpr Fields kOfOptional = {
    &field<"OptionalProto.tensor_value">,   &field<"OptionalProto.sparse_tensor_value">,
    &field<"OptionalProto.sequence_value">, &field<"OptionalProto.map_value">,
    &field<"OptionalProto.optional_value">,
};

const wire::FieldRow* known_field(const Fields& fields, std::int64_t type) {
    const bool is_known = type > 0 && type <= static_cast<std::int64_t>(fields.size());
    return is_known ? fields[static_cast<std::size_t>(type - 1)] : nullptr;
}

}  // namespace

const wire::FieldRow* sequence_field(const onnx::Message& sequence) {
    const auto type = sequence.int64(field<"SequenceProto.elem_type">);
    if (const auto* known = known_field(kOfSequence, type)) return known;
    for (const auto* row : kOfSequence) {
        if (sequence.count(*row) > 0) return row;
    }
    return nullptr;
}

std::optional<onnx::Message> optional_value(const Document& document,
                                            const onnx::Message& optional) {
    const auto* row = known_field(kOfOptional, optional.int64(field<"OptionalProto.elem_type">));
    return row == nullptr ? std::nullopt : document.child(optional, *row);
}

const wire::FieldRow& keys_field(const Document& document, const onnx::Message& map) {
    const auto type = map.int64(field<"MapProto.key_type">);
    const bool are_texts = type == static_cast<std::int64_t>(onnx::DataType::STRING);
    const auto& row = are_texts ? field<"MapProto.string_keys"> : field<"MapProto.keys">;
    const std::uint64_t keys = map.count(row);
    std::uint64_t values = 0;
    if (const auto sequence = document.child(map, field<"MapProto.values">)) {
        if (const auto* found = sequence_field(*sequence)) values = sequence->count(*found);
    }
    if (keys != values) {
        throw Error("model.map_size", {"a map has ", keys, " keys but ", values, " values"});
    }
    return row;
}

}  // namespace onnxmap::model
