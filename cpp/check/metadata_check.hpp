// The rules of metadata_props.
#pragma once

#include "check/findings.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// The entries of a field of StringStringEntryProto: keys are given, and each once.
void check_metadata(Findings& findings, const onnx::Message& message, const wire::FieldRow& row,
                    const FieldPath& path);

/// The keys that ONNX defines for a model have one of the values that it defines for them.
void check_predefined_metadata(Findings& findings, const onnx::Message& model,
                               const FieldPath& root);

}  // namespace onnxmap::check
