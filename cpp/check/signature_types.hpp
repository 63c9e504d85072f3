// The types of the inputs of one node, and what its operator makes of them: parameters of one
// letter have one type, which is one of those that the letter stands for.
#pragma once

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
        onnx::ValueType type;
    };
    [[nodiscard]] const std::vector<Input>& inputs() const noexcept { return inputs_; }

    /// Calls wrong(slot, message) for each input of a type that does not fit; message() makes the
    /// sentence. `decided`: the type of the first output, if an attribute decides it.
    template <class Wrong>
    void judge(const onnx::Operator& op, onnx::ValueType decided, Wrong&& wrong);

    /// The type of an output of the node; unknown if the inputs do not tell.
    [[nodiscard]] onnx::ValueType output(std::uint64_t node, std::uint32_t slot) const;

  private:
    struct Bound {
        onnx::ValueType type;
        std::uint32_t slot = 0;  // of the input that has it
    };
    static std::size_t index(char letter) noexcept {
        return static_cast<std::size_t>(letter - 'A');
    }

    std::uint64_t node_ = UINT64_MAX;
    std::vector<Input> inputs_;
    std::optional<onnx::Operator> operator_;
    onnx::ValueType decided_;
    std::array<Bound, std::tuple_size_v<decltype(onnx::Operator::Row::types)>> bound_;
};

template <class Wrong>
void SignatureTypes::judge(const onnx::Operator& op, onnx::ValueType decided, Wrong&& wrong) {
    operator_ = op;
    decided_ = decided;
    bound_ = {};
    for (const auto& [slot, value, type] : inputs_) {
        if (!type.is_known()) continue;
        const onnx::Parameter parameter = op.input(slot);
        if (parameter.letter == 0) return;  // too many inputs
        if (!op.types(parameter.letter).has(type)) {
            wrong(slot, [&, given = type] {
                return std::string(op.name()) + " of version " + std::to_string(op.since()) +
                       " does not take " + given.text();
            });
            continue;
        }
        if (parameter.own_type) continue;
        Bound& bound = bound_.at(index(parameter.letter));
        if (!bound.type.is_known()) {
            bound = {type, slot};
        } else if (bound.type != type) {
            wrong(slot, [&, given = type] {
                return "it is " + given.text() + ", and input " + std::to_string(bound.slot) +
                       ", which has the same type in " + std::string(op.name()) + ", " +
                       bound.type.text();
            });
        }
    }
}

inline onnx::ValueType SignatureTypes::output(std::uint64_t node, std::uint32_t slot) const {
    if (node != node_ || !operator_) return {};
    const onnx::Parameter parameter = operator_->output(slot);
    if (parameter.letter == 0 || parameter.own_type) return {};
    const onnx::ValueType bound = bound_.at(index(parameter.letter)).type;
    if (bound.is_known()) return bound;
    if (slot == 0 && decided_.is_known()) return decided_;
    return operator_->types(parameter.letter).only();
}

}  // namespace onnxmap::check
