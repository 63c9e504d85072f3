#include "check/type_check.hpp"

#include <optional>
#include <string>

#include "base/utf8.hpp"
#include "check/metadata_check.hpp"
#include "check/string_check.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

// Source: onnx.proto, Version.
constexpr std::int64_t kFirstWithOptional = 8;

void check_dimension(Checking& checking, const onnx::Message& dim, const FieldPath& path) {
    std::optional<std::int64_t> value;
    std::optional<std::string_view> param;
    dim.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (row == &field<"TensorShapeProto.Dimension.dim_value">) value = found.int64();
        if (row == &field<"TensorShapeProto.Dimension.dim_param">) param = found.text();
        if (row == nullptr || row->type != wire::Type::string || is_utf8(found.text())) return;
        checking.found(Rule::model_text, FieldPath{&path, row}, "the text is not UTF-8");
    });
    if (value && param) {
        checking.found(
            Rule::type_dimension, path,
            {"the dimension has the value ", *value, " and the parameter ", Quoted(*param)});
    }
    if (value && *value < 0) {
        checking.found(Rule::type_negative_dim, path, {"the value of the dimension is ", *value});
    }
    if (param) check_identifier(checking.findings, *param, path);
    if (param == "*") {
        checking.found(Rule::type_any_dims, path, "the parameter of the dimension is \"*\"");
    }
}

void check_shape(Checking& checking, const onnx::Message& shape, const FieldPath& path) {
    const wire::FieldRow& row = field<"TensorShapeProto.dim">;
    for_each_child(shape, row, path, [&](const onnx::Message& value, const FieldPath& at) {
        check_dimension(checking, value, at);
    });
}

// A dense or a sparse tensor type.
void check_tensor_type(Checking& checking, const onnx::Message& type, const wire::FieldRow& elem,
                       const wire::FieldRow& shape_row, const FieldPath& path) {
    check_elem_type(checking, type.int64(elem), path);
    const auto shape = type.child(shape_row);
    if (shape) check_shape(checking, *shape, FieldPath{&path, &shape_row});
}

void check_element(Checking& checking, const onnx::Message& type, const wire::FieldRow& row,
                   const FieldPath& path) {
    const auto element = type.child(row);
    if (element) {
        check_type(checking, *element, FieldPath{&path, &row});
    } else {
        checking.found(Rule::type_missing, path, {"the type has no ", row.name});
    }
}

void check_since(Checking& checking, std::int64_t version, const FieldPath& path) {
    if (checking.ir_version >= version) return;
    checking.found(
        Rule::type_version, path,
        {"IR version ", checking.ir_version, " has no such type; version ", version, " added it"});
}

bool is_key_type(std::int64_t number) noexcept {
    const onnx::DataTypeInfo* const type = onnx::find_data_type(static_cast<std::int32_t>(number));
    if (type == nullptr || type->sub_byte()) return false;
    return type->format.numbers == onnx::Numbers::signed_integer ||
           type->format.numbers == onnx::Numbers::unsigned_integer ||
           type->format.numbers == onnx::Numbers::text;
}

void check_map(Checking& checking, const onnx::Message& map, const FieldPath& path) {
    const std::int64_t key = map.int64(field<"TypeProto.Map.key_type">);
    if (!is_key_type(key)) {
        checking.found(Rule::type_map_key, path, {"key_type is ", key, ", no integer or string"});
    }
    check_element(checking, map, field<"TypeProto.Map.value_type">, path);
}

}  // namespace

void check_elem_type(Checking& checking, std::int64_t number, const FieldPath& path) {
    const onnx::DataTypeInfo* const type = onnx::find_data_type(static_cast<std::int32_t>(number));
    if (type == nullptr) {
        checking.found(Rule::type_elem_type, path, [&] {
            return number == 0
                       ? std::string("the type has no elem_type")
                       : "elem_type is " + std::to_string(number) + ", which is not a type of ONNX";
        });
    } else if (type->ir_version > checking.ir_version) {
        check_since(checking, type->ir_version, path);
    }
}

void check_type(Checking& checking, const onnx::Message& type, const FieldPath& path) {
    const wire::FieldRow* const row = type.which("value");
    if (row == nullptr) {
        checking.found(Rule::type_missing, path, "the type does not say what it is");
        return;
    }
    const auto value = type.child(*row);
    if (!value) return;
    const FieldPath here{&path, row};
    if (row == &field<"TypeProto.tensor_type">) {
        check_tensor_type(checking, *value, field<"TypeProto.Tensor.elem_type">,
                          field<"TypeProto.Tensor.shape">, here);
    } else if (row == &field<"TypeProto.sparse_tensor_type">) {
        check_since(checking, kFirstWithOptional, here);
        check_tensor_type(checking, *value, field<"TypeProto.SparseTensor.elem_type">,
                          field<"TypeProto.SparseTensor.shape">, here);
    } else if (row == &field<"TypeProto.sequence_type">) {
        check_element(checking, *value, field<"TypeProto.Sequence.elem_type">, here);
    } else if (row == &field<"TypeProto.optional_type">) {
        check_since(checking, kFirstWithOptional, here);
        check_element(checking, *value, field<"TypeProto.Optional.elem_type">, here);
    } else if (row == &field<"TypeProto.map_type">) {
        check_map(checking, *value, here);
    } else if (row == &field<"TypeProto.opaque_type">) {
        check_texts(checking.findings, *value, here);
    }
}

onnx::ValueType type_of_value(const onnx::Message& value_info) {
    using Kind = onnx::ValueType::Kind;
    std::optional<onnx::Message> type = value_info.child(field<"ValueInfoProto.type">);
    bool is_optional = false;
    bool is_sequence = false;
    while (type) {
        const wire::FieldRow* const row = type->which("value");
        const auto value = row == nullptr ? std::nullopt : type->child(*row);
        if (!value) return {};
        if (row == &field<"TypeProto.tensor_type">) {
            const Kind kind = is_optional ? (is_sequence ? Kind::optional_sequence : Kind::optional)
                                          : (is_sequence ? Kind::sequence : Kind::tensor);
            return {kind, value->int64(field<"TypeProto.Tensor.elem_type">)};
        }
        if (row == &field<"TypeProto.map_type">) return onnx::ValueType::other();
        if (row == &field<"TypeProto.sparse_tensor_type"> && !is_optional && !is_sequence) {
            return {Kind::sparse_tensor, value->int64(field<"TypeProto.SparseTensor.elem_type">)};
        }
        if (row == &field<"TypeProto.optional_type"> && !is_optional && !is_sequence) {
            is_optional = true;
            type = value->child(field<"TypeProto.Optional.elem_type">);
        } else if (row == &field<"TypeProto.sequence_type"> && !is_sequence) {
            is_sequence = true;
            type = value->child(field<"TypeProto.Sequence.elem_type">);
        } else {
            return {};  // a sequence of sequences
        }
    }
    return {};
}

void check_value_info(Checking& checking, const onnx::Message& value_info, const FieldPath& path,
                      bool is_boundary) {
    const wire::FieldRow& row = field<"ValueInfoProto.type">;
    const auto type = value_info.child(row);
    const wire::FieldRow* const kind = type ? type->which("value") : nullptr;
    const FieldPath here{&path, &row};
    const auto title = [&] { return in_quotes(value_info.text(field<"ValueInfoProto.name">)); };
    if (kind == nullptr) {
        if (is_boundary) {
            checking.found(Rule::graph_value_type, path, {"the value ", title(), " has no type"});
        }
        return;
    }
    check_type(checking, *type, here);
    if (value_info.has(field<"ValueInfoProto.metadata_props">)) {
        check_metadata(checking.findings, value_info, field<"ValueInfoProto.metadata_props">, path);
    }
    if (!is_boundary) return;
    const bool is_dense = kind == &field<"TypeProto.tensor_type">;
    if (is_dense || kind == &field<"TypeProto.sparse_tensor_type">) {
        const auto tensor = type->child(*kind);
        const bool has_shape =
            tensor && tensor->has(is_dense ? field<"TypeProto.Tensor.shape">
                                           : field<"TypeProto.SparseTensor.shape">);
        if (!has_shape) {
            checking.found(Rule::graph_value_shape, path,
                           {"the tensor ", title(), " has no shape"});
        }
    }
    if (!is_dense && checking.imports.only_standard()) {
        checking.found(Rule::type_not_tensor, path,
                       {"the value ", title(), " is not a dense tensor"});
    }
}

}  // namespace onnxmap::check
