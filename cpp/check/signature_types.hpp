// The types of the inputs of one node, and what its operator makes of them: parameters of one
// letter have one type, which is one of those that the letter stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/visible_values.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

class SignatureTypes {
  public:
    /// Begins with another node. Its inputs follow, then its operator.
    void begin(std::uint64_t node) {
        if (node == node_) return;
        node_ = node;
        inputs_.clear();
        operator_.reset();
    }
    void add_input(std::uint32_t slot, VisibleValues::Id value, onnx::ValueType type) {
        inputs_.push_back({slot, value, type});
    }
    struct Input {
        std::uint32_t slot;
        VisibleValues::Id value;
        onnx::ValueType type = {};
    };
    [[nodiscard]] const std::vector<Input>& inputs() const noexcept { return inputs_; }
    /// Null if the node has no such input.
    [[nodiscard]] const Input* find_input(std::uint64_t slot) const {
        const auto found = std::ranges::lower_bound(inputs_, slot, {}, &Input::slot);
        return found != inputs_.end() && found->slot == slot ? &*found : nullptr;
    }

    /// Calls wrong(input, other) for each input whose type does not fit the type of `other`, an
    /// input before it, or, if that is null, the types that the operator takes.
    /// `decided`: the type of the first output, if an attribute decides it.
    template <class Wrong>
    void judge(const onnx::Operator& op, onnx::ValueType decided, Wrong&& wrong);

    /// The operator of a node; null if it is not known.
    [[nodiscard]] const onnx::Operator* called(std::uint64_t node) const noexcept {
        return node == node_ && operator_ ? &*operator_ : nullptr;
    }

    /// The type of an output of the node; unknown if the inputs do not tell.
    [[nodiscard]] onnx::ValueType output(std::uint64_t node, std::uint32_t slot) const;

  private:
    // The type of the first output of an operator between sequences and their tensors.
    [[nodiscard]] onnx::ValueType of_elements() const;
    static std::size_t index(char letter) noexcept {
        return static_cast<std::size_t>(letter - 'A');
    }

    std::uint64_t node_ = UINT64_MAX;
    std::vector<Input> inputs_;
    std::optional<onnx::Operator> operator_;
    onnx::ValueType decided_;
    // Of each letter, the first input that has its type; a type that is not known if none has.
    std::array<Input, std::tuple_size_v<decltype(onnx::Operator::Row::types)>> bound_;
};

template <class Wrong>
void SignatureTypes::judge(const onnx::Operator& op, onnx::ValueType decided, Wrong&& wrong) {
    operator_ = op;
    decided_ = decided;
    bound_ = {};
    for (const Input& input : inputs_) {
        if (!input.type.is_known()) {
            // An input of the output's type decides it, and its type is not known.
            const bool is_usual = decided_.is_known();
            if (is_usual && op.input(input.slot).letter == op.output(0).letter) decided_ = {};
            continue;
        }
        const onnx::Parameter parameter = op.input(input.slot);
        if (parameter.letter == 0) return;  // too many inputs
        if (!op.types(parameter.letter).has(input.type)) {
            wrong(input, nullptr);
            continue;
        }
        if (parameter.own_type) continue;
        Input& bound = bound_.at(index(parameter.letter));
        if (!bound.type.is_known()) {
            bound = input;
        } else if (bound.type != input.type) {
            wrong(input, &bound);
        }
    }
    if (op.name() != "SequenceInsert") return;
    const Input* const sequence = find_input(0);
    const Input* const element = find_input(1);
    if (sequence == nullptr || element == nullptr) return;
    const bool are_known = sequence->type.is_known() && element->type.is_known();
    if (are_known && sequence->type.data_type() != element->type.data_type())
        wrong(*element, sequence);
}

inline onnx::ValueType SignatureTypes::output(std::uint64_t node, std::uint32_t slot) const {
    if (node != node_ || !operator_) return {};
    const onnx::Parameter parameter = operator_->output(slot);
    if (parameter.letter == 0 || parameter.own_type) return {};
    const onnx::ValueType bound = bound_.at(index(parameter.letter)).type;
    if (bound.is_known()) return bound;
    if (slot == 0 && decided_.is_known()) return decided_;
    if (const auto type = of_elements(); slot == 0 && type.is_known()) return type;
    return operator_->types(parameter.letter).only();
}

inline onnx::ValueType SignatureTypes::of_elements() const {
    using Kind = onnx::ValueType::Kind;
    const auto name = operator_->name();
    const bool joins = name == "SequenceConstruct" || name == "SplitToSequence";
    const bool is_one = joins || name == "SequenceAt" || name == "ConcatFromSequence";
    const Input* const first = find_input(0);
    if (!is_one || first == nullptr || first->type.kind() == Kind::other) return {};
    return {joins ? Kind::sequence : Kind::tensor, first->type.data_type()};
}

}  // namespace onnxmap::check
