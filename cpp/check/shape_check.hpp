// Shapes that a graph tells, and operators whose rule for them is plain: Conv, Gemm, MatMul, and
// those that broadcast their inputs. A shape that is not told, or a dimension without a value, fits
// any.
// Source: the operators' texts in onnx.defs; docs/Broadcasting.md of ONNX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/visible_values.hpp"
#include "model/field_index.hpp"
#include "onnx/message.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// The dimensions of a value; -1 for one that is not known.
using Shape = std::vector<std::int64_t>;

/// The shape that a TensorProto, a SparseTensorProto or a ValueInfoProto gives its value.
[[nodiscard]] std::optional<Shape> told_shape(const onnx::Message& message);

/// As text: "[2, ?, 3]".
[[nodiscard]] std::string shape_text(const Shape& shape);

/// Whether dimensions of two shapes of one value differ.
[[nodiscard]] bool contradict(const Shape& a, const Shape& b);

/// The shapes that the fields of a graph tell.
class ToldShapes {
  public:
    /// `fields`: of the graph.
    explicit ToldShapes(const model::FieldIndex& fields) : fields_(fields) {}

    /// The element of a field tells the shape of a value.
    void add(VisibleValues::Id value, const wire::FieldRow& row, std::uint64_t index) {
        told_.push_back({value, index, &row, {}});
        is_sorted_ = false;
    }
    /// What was told of a value first; null if nothing was.
    [[nodiscard]] const Shape* find(VisibleValues::Id value);

  private:
    struct Told {
        VisibleValues::Id value;
        std::uint64_t index;
        const wire::FieldRow* row;  // null: the shape was read
        std::optional<Shape> shape;
    };
    const model::FieldIndex& fields_;
    std::vector<Told> told_;
    bool is_sorted_ = true;
};

struct WrongShape {
    std::size_t slot;  // of the input
    std::string message;
};

/// Whether a rule for shapes is known of the operator.
[[nodiscard]] bool has_shape_rule(const onnx::Operator& op);

/// The shapes of the inputs, at least kLeastInputs; null for one that is not known.
using InputShapes = std::vector<const Shape*>;
inline constexpr std::size_t kLeastInputs = 3;  // which such rules look at

/// What is wrong with the shapes of the inputs of a node whose operator has such a rule.
[[nodiscard]] std::optional<WrongShape> wrong_shape(const onnx::Operator& op,
                                                    const onnx::Message& node,
                                                    const InputShapes& inputs);

}  // namespace onnxmap::check
