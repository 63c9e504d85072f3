// Finds tensors of two models that have the same type, shape and values under other names.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "compare/tensor_values.hpp"
#include "onnx/message.hpp"

namespace onnxmap::compare {

/// Pairs of positions in `a` and `b`: tensors that are equal in type, shape and values. Of several
/// equal tensors, the first is paired with the first. Only tensors that may have a partner are
/// read: their type, shape and some samples of their bytes occur on both sides. Tensors with faults
/// have no partner. Throws Error `file.changed`, FileError, os::Stopped.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> match_by_content(
    const TwoDocuments& documents, std::span<const onnx::Message> a,
    std::span<const onnx::Message> b);

/// For each tensor of a document the first one that is equal to it in type, shape and bits, which
/// may be itself. Reads what match_by_content() would read, and throws the same.
[[nodiscard]] std::vector<std::uint32_t> first_equal(const model::Document& document,
                                                     std::span<const onnx::Message> tensors);

}  // namespace onnxmap::compare
