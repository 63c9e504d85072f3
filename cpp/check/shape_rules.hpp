// What the operators of ONNX make of the shapes of their inputs: a rule of shapes.def for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "check/node_shapes.hpp"
#include "onnx/operators.hpp"
#include "tensor/header.hpp"

namespace onnxmap::check {

/// The parts of a text between separators, without blanks around them; the words between blanks.
[[nodiscard]] std::vector<std::string_view> parts(std::string_view text,
                                                  std::string_view separator);
[[nodiscard]] std::vector<std::string_view> words(std::string_view text);

/// The number of the rule of an operator; 0: there is none.
[[nodiscard]] std::uint16_t shape_rule_of(const onnx::Operator& op);
/// Tells the shapes of the outputs of a node, or what is wrong with it.
void apply_shape_rule(std::uint16_t rule, NodeShapes& node);

/// The shape that inputs have together, which broadcast.
/// Source: docs/Broadcasting.md of ONNX.
class Broadcast {
  public:
    /// Whether one more fits.
    bool add(NumberView shape);
    [[nodiscard]] NumberView dims() const { return {dims_.data() + dims_.size() - rank_, rank_}; }

  private:
    std::array<std::int64_t, tensor::kMaxRank> dims_;  // NOLINT: the last `rank_` are filled
    std::size_t rank_ = 0;
};

/// The sum; kUnknown if a number is not known or negative, or for one of more than 63 bits.
[[nodiscard]] std::int64_t sum(NumberView numbers);

// What rules call; `how` is the text of the row.
using ShapeFunction = void(NodeShapes& node, std::string_view how);

/// `how` says in letters which dimensions are equal: see shapes.def.
ShapeFunction match, recurrent, loss;
ShapeFunction same, same_along, identity, broadcast, matmul, gemm, window;
ShapeFunction reshape, flatten, transpose, reduce, unsqueeze, concat, split, slice, expand, gather;
ShapeFunction constant, constant_of_shape, shape;

}  // namespace onnxmap::check
