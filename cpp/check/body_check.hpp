// How the subgraphs of If, Loop, Scan and SequenceMap fit their node.
// Source: the texts of these operators in onnx.defs, and their inference of types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "check/checking.hpp"
#include "check/signature_types.hpp"
#include "onnx/message.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// The types of the inputs and outputs of a subgraph; some are unknown.
struct BodyTypes {
    struct Input {
        onnx::ValueType type;
        std::uint64_t position;
        bool has_initializer = false;
    };
    std::vector<Input> inputs;
    std::vector<onnx::ValueType> outputs;
};

/// The subgraphs of one node after another.
class BodyCheck {
  public:
    /// Begins with another node, of any operator. `types`: of its inputs.
    void begin(std::uint64_t node, const onnx::Message& message, const SignatureTypes& types);
    /// A subgraph of the node has these types. Nothing is judged between end() and begin().
    void judge(Checking& checking, const FieldPath& path, BodyTypes body,
               const SignatureTypes& types);
    void end() noexcept { is_open_ = false; }

    /// The type that the node gives an input of its subgraph; unknown if it is not known.
    [[nodiscard]] onnx::ValueType input(std::uint64_t position, const SignatureTypes& types) const;
    /// The type of an output of a node; unknown if no subgraph tells.
    [[nodiscard]] onnx::ValueType output(std::uint64_t node, std::uint32_t slot) const;

  private:
    void judge_inputs(Checking& checking, const FieldPath& path, const BodyTypes& body,
                      const SignatureTypes& types) const;
    void judge_outputs(Checking& checking, const FieldPath& path, const BodyTypes& body);

    std::uint64_t node_ = UINT64_MAX;
    bool is_open_ = false;
    bool makes_sequences_ = false;
    std::size_t inputs_ = 0;        // that a subgraph has
    std::size_t outputs_ = 0;       // that a subgraph has
    std::size_t skipped_ = 0;       // the first inputs of the node, which no subgraph gets
    std::size_t carried_ = 0;       // values that go from one run of the subgraph to the next
    std::size_t more_outputs_ = 0;  // the first outputs of a subgraph, which the node does not have
    std::optional<BodyTypes> first_ = std::nullopt;  // subgraph of the node
};

/// As text: "'x' is FLOAT".
[[nodiscard]] std::string type_text(Checking& checking, const SignatureTypes::Input& input);

}  // namespace onnxmap::check
