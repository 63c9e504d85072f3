// The messages and enums of ONNX, IR version 14: one row per field, in the order of the .proto
// files. All code that knows fields is derived from these rows: the reader, .proto views, text
// format, tests.
// Source: onnx-ml.proto, onnx-operators-ml.proto, onnx-data.proto.
#pragma once

#include <span>
#include <string_view>

#include "wire/message_table.hpp"

namespace onnxmap::onnx::rows {

using wire::EnumTable;
using wire::EnumValue;
using wire::FieldRow;
using enum wire::Label;
using enum wire::Type;

inline constexpr bool kPacked = true;
inline constexpr bool kRetired = true;

inline constexpr EnumValue kVersion[] = {
    {"_START_VERSION", 0},         {"IR_VERSION_2017_10_10", 1},  {"IR_VERSION_2017_10_30", 2},
    {"IR_VERSION_2017_11_3", 3},   {"IR_VERSION_2019_1_22", 4},   {"IR_VERSION_2019_3_18", 5},
    {"IR_VERSION_2019_9_19", 6},   {"IR_VERSION_2020_5_8", 7},    {"IR_VERSION_2021_7_30", 8},
    {"IR_VERSION_2023_5_5", 9},    {"IR_VERSION_2024_3_25", 10},  {"IR_VERSION_2025_05_12", 11},
    {"IR_VERSION_2025_08_26", 12}, {"IR_VERSION_2025_11_06", 13}, {"IR_VERSION", 14},
};
inline constexpr EnumValue kOperatorStatus[] = {
    {"EXPERIMENTAL", 0},
    {"STABLE", 1},
};
inline constexpr EnumValue kAttributeProtoAttributeType[] = {
    {"UNDEFINED", 0},      {"FLOAT", 1},           {"INT", 2},
    {"STRING", 3},         {"TENSOR", 4},          {"GRAPH", 5},
    {"SPARSE_TENSOR", 11}, {"TYPE_PROTO", 13},     {"FLOATS", 6},
    {"INTS", 7},           {"STRINGS", 8},         {"TENSORS", 9},
    {"GRAPHS", 10},        {"SPARSE_TENSORS", 12}, {"TYPE_PROTOS", 14},
};
inline constexpr EnumValue kTensorProtoDataType[] = {
    {"UNDEFINED", 0},
#define DATA_TYPE(name, number, ...) {#name, number},
#include "onnx/data_type.def"
#undef DATA_TYPE
};
inline constexpr EnumValue kTensorProtoDataLocation[] = {
    {"DEFAULT", 0},
    {"EXTERNAL", 1},
};
// Of sequences and of optional values.
inline constexpr EnumValue kElementDataType[] = {
    {"UNDEFINED", 0}, {"TENSOR", 1}, {"SPARSE_TENSOR", 2},
    {"SEQUENCE", 3},  {"MAP", 4},    {"OPTIONAL", 5},
};

inline constexpr EnumTable kEnums[] = {
    {"Version", kVersion},
    {"OperatorStatus", kOperatorStatus},
    {"AttributeProto.AttributeType", kAttributeProtoAttributeType},
    {"TensorProto.DataType", kTensorProtoDataType},
    {"TensorProto.DataLocation", kTensorProtoDataLocation},
    {"SequenceProto.DataType", kElementDataType},
    {"OptionalProto.DataType", kElementDataType},
};

/// The messages one after another. A row with number 0 begins a message; its fields follow.
inline constexpr FieldRow kRows[] = {
    {0, "AttributeProto"},
    {1, "name", optional, string},
    {21, "ref_attr_name", optional, string},
    {13, "doc_string", optional, string},
    {20, "type", optional, enumeration, "AttributeProto.AttributeType"},
    {2, "f", optional, float32},
    {3, "i", optional, int64},
    {4, "s", optional, bytes},
    {5, "t", optional, message, "TensorProto"},
    {6, "g", optional, message, "GraphProto"},
    {22, "sparse_tensor", optional, message, "SparseTensorProto"},
    {14, "tp", optional, message, "TypeProto"},
    {7, "floats", repeated, float32},
    {8, "ints", repeated, int64},
    {9, "strings", repeated, bytes},
    {10, "tensors", repeated, message, "TensorProto"},
    {11, "graphs", repeated, message, "GraphProto"},
    {23, "sparse_tensors", repeated, message, "SparseTensorProto"},
    {15, "type_protos", repeated, message, "TypeProto"},

    {0, "ValueInfoProto"},
    {1, "name", optional, string},
    {2, "type", optional, message, "TypeProto"},
    {3, "doc_string", optional, string},
    {4, "metadata_props", repeated, message, "StringStringEntryProto"},

    {0, "NodeProto"},
    {1, "input", repeated, string},
    {2, "output", repeated, string},
    {3, "name", optional, string},
    {4, "op_type", optional, string},
    {7, "domain", optional, string},
    {8, "overload", optional, string},
    {5, "attribute", repeated, message, "AttributeProto"},
    {6, "doc_string", optional, string},
    {9, "metadata_props", repeated, message, "StringStringEntryProto"},
    {10, "device_configurations", repeated, message, "NodeDeviceConfigurationProto"},

    {0, "IntIntListEntryProto"},
    {1, "key", optional, int64},
    {2, "value", repeated, int64},

    {0, "NodeDeviceConfigurationProto"},
    {1, "configuration_id", optional, string},
    {2, "sharding_spec", repeated, message, "ShardingSpecProto"},
    {3, "pipeline_stage", optional, int32},

    {0, "ShardingSpecProto"},
    {1, "tensor_name", optional, string},
    {2, "device", repeated, int64},
    {3, "index_to_device_group_map", repeated, message, "IntIntListEntryProto"},
    {4, "sharded_dim", repeated, message, "ShardedDimProto"},

    {0, "ShardedDimProto"},
    {1, "axis", optional, int64},
    {2, "simple_sharding", repeated, message, "SimpleShardedDimProto"},

    {0, "SimpleShardedDimProto"},
    {1, "dim_value", optional, int64, "", "dim"},
    {2, "dim_param", optional, string, "", "dim"},
    {3, "num_shards", optional, int64},

    {0, "TrainingInfoProto"},
    {1, "initialization", optional, message, "GraphProto"},
    {2, "algorithm", optional, message, "GraphProto"},
    {3, "initialization_binding", repeated, message, "StringStringEntryProto"},
    {4, "update_binding", repeated, message, "StringStringEntryProto"},

    {0, "ModelProto"},
    {1, "ir_version", optional, int64},
    {8, "opset_import", repeated, message, "OperatorSetIdProto"},
    {2, "producer_name", optional, string},
    {3, "producer_version", optional, string},
    {4, "domain", optional, string},
    {5, "model_version", optional, int64},
    {6, "doc_string", optional, string},
    {7, "graph", optional, message, "GraphProto"},
    {14, "metadata_props", repeated, message, "StringStringEntryProto"},
    {20, "training_info", repeated, message, "TrainingInfoProto"},
    {25, "functions", repeated, message, "FunctionProto"},
    {26, "configuration", repeated, message, "DeviceConfigurationProto"},

    {0, "DeviceConfigurationProto"},
    {1, "name", optional, string},
    {2, "num_devices", optional, int32},
    {3, "device", repeated, string},

    {0, "StringStringEntryProto"},
    {1, "key", optional, string},
    {2, "value", optional, string},

    {0, "TensorAnnotation"},
    {1, "tensor_name", optional, string},
    {2, "quant_parameter_tensor_names", repeated, message, "StringStringEntryProto"},

    {0, "GraphProto"},
    {1, "node", repeated, message, "NodeProto"},
    {2, "name", optional, string},
    {5, "initializer", repeated, message, "TensorProto"},
    {15, "sparse_initializer", repeated, message, "SparseTensorProto"},
    {10, "doc_string", optional, string},
    {11, "input", repeated, message, "ValueInfoProto"},
    {12, "output", repeated, message, "ValueInfoProto"},
    {13, "value_info", repeated, message, "ValueInfoProto"},
    {14, "quantization_annotation", repeated, message, "TensorAnnotation"},
    {16, "metadata_props", repeated, message, "StringStringEntryProto"},

    {0, "TensorProto"},
    {1, "dims", repeated, int64},
    {2, "data_type", optional, int32},
    {3, "segment", optional, message, "TensorProto.Segment"},
    {4, "float_data", repeated, float32, "", "", kPacked},
    {5, "int32_data", repeated, int32, "", "", kPacked},
    {6, "string_data", repeated, bytes},
    {7, "int64_data", repeated, int64, "", "", kPacked},
    {8, "name", optional, string},
    {12, "doc_string", optional, string},
    {9, "raw_data", optional, bytes},
    {13, "external_data", repeated, message, "StringStringEntryProto"},
    {14, "data_location", optional, enumeration, "TensorProto.DataLocation"},
    {10, "double_data", repeated, float64, "", "", kPacked},
    {11, "uint64_data", repeated, uint64, "", "", kPacked},
    {16, "metadata_props", repeated, message, "StringStringEntryProto"},

    {0, "TensorProto.Segment"},
    {1, "begin", optional, int64},
    {2, "end", optional, int64},

    {0, "SparseTensorProto"},
    {1, "values", optional, message, "TensorProto"},
    {2, "indices", optional, message, "TensorProto"},
    {3, "dims", repeated, int64},

    {0, "TensorShapeProto"},
    {1, "dim", repeated, message, "TensorShapeProto.Dimension"},

    {0, "TensorShapeProto.Dimension"},
    {1, "dim_value", optional, int64, "", "value"},
    {2, "dim_param", optional, string, "", "value"},
    {3, "denotation", optional, string},

    {0, "TypeProto"},
    {1, "tensor_type", optional, message, "TypeProto.Tensor", "value"},
    {4, "sequence_type", optional, message, "TypeProto.Sequence", "value"},
    {5, "map_type", optional, message, "TypeProto.Map", "value"},
    {9, "optional_type", optional, message, "TypeProto.Optional", "value"},
    {8, "sparse_tensor_type", optional, message, "TypeProto.SparseTensor", "value"},
    {7, "opaque_type", optional, message, "TypeProto.Opaque", "value"},
    {6, "denotation", optional, string},

    {0, "TypeProto.Tensor"},
    {1, "elem_type", optional, int32},
    {2, "shape", optional, message, "TensorShapeProto"},

    {0, "TypeProto.Sequence"},
    {1, "elem_type", optional, message, "TypeProto"},

    {0, "TypeProto.Map"},
    {1, "key_type", optional, int32},
    {2, "value_type", optional, message, "TypeProto"},

    {0, "TypeProto.Optional"},
    {1, "elem_type", optional, message, "TypeProto"},

    {0, "TypeProto.SparseTensor"},
    {1, "elem_type", optional, int32},
    {2, "shape", optional, message, "TensorShapeProto"},

    {0, "TypeProto.Opaque"},
    {1, "domain", optional, string},
    {2, "name", optional, string},

    {0, "OperatorSetIdProto"},
    {1, "domain", optional, string},
    {2, "version", optional, int64},

    {0, "FunctionProto"},
    {1, "name", optional, string},
    {4, "input", repeated, string},
    {5, "output", repeated, string},
    {6, "attribute", repeated, string},
    {11, "attribute_proto", repeated, message, "AttributeProto"},
    {7, "node", repeated, message, "NodeProto"},
    {8, "doc_string", optional, string},
    {9, "opset_import", repeated, message, "OperatorSetIdProto"},
    {10, "domain", optional, string},
    {13, "overload", optional, string},
    {12, "value_info", repeated, message, "ValueInfoProto"},
    {14, "metadata_props", repeated, message, "StringStringEntryProto"},
    // Removed in IR version 8. Can be read by name; otherwise treated as unknown fields.
    {2, "since_version", optional, int64, "", "", !kPacked, kRetired},
    {3, "status", optional, enumeration, "OperatorStatus", "", !kPacked, kRetired},

    {0, "OperatorProto"},
    {1, "op_type", optional, string},
    {2, "since_version", optional, int64},
    {3, "status", optional, enumeration, "OperatorStatus"},
    {10, "doc_string", optional, string},

    {0, "OperatorSetProto"},
    {1, "magic", optional, string},
    {2, "ir_version", optional, int64},
    {3, "ir_version_prerelease", optional, string},
    {7, "ir_build_metadata", optional, string},
    {4, "domain", optional, string},
    {5, "opset_version", optional, int64},
    {6, "doc_string", optional, string},
    {8, "operator", repeated, message, "OperatorProto"},
    {9, "functions", repeated, message, "FunctionProto"},

    {0, "SequenceProto"},
    {1, "name", optional, string},
    {2, "elem_type", optional, int32},
    {3, "tensor_values", repeated, message, "TensorProto"},
    {4, "sparse_tensor_values", repeated, message, "SparseTensorProto"},
    {5, "sequence_values", repeated, message, "SequenceProto"},
    {6, "map_values", repeated, message, "MapProto"},
    {7, "optional_values", repeated, message, "OptionalProto"},

    {0, "MapProto"},
    {1, "name", optional, string},
    {2, "key_type", optional, int32},
    {3, "keys", repeated, int64},
    {4, "string_keys", repeated, bytes},
    {5, "values", optional, message, "SequenceProto"},

    {0, "OptionalProto"},
    {1, "name", optional, string},
    {2, "elem_type", optional, int32},
    {3, "tensor_value", optional, message, "TensorProto"},
    {4, "sparse_tensor_value", optional, message, "SparseTensorProto"},
    {5, "sequence_value", optional, message, "SequenceProto"},
    {6, "map_value", optional, message, "MapProto"},
    {7, "optional_value", optional, message, "OptionalProto"},
};

}  // namespace onnxmap::onnx::rows
