// The signature of a node's operator: how many inputs and outputs it has, and which attributes.
// Source: onnx.defs, as onnx/operators.def has it, and onnx's OpSchema::Verify.
#pragma once

#include <string>

#include "check/attribute_check.hpp"
#include "check/checking.hpp"
#include "check/node_parts.hpp"
#include "model/name_table.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// What a node calls: an operator that ONNX describes, or a function of the model, or neither.
class Callee {
  public:
    /// Of a node; a finding if its operator set has no such operator.
    Callee(const Checking& checking, Findings& findings, const NodeParts& parts,
           const FieldPath& path, const Owner& owner);

    /// The number of inputs and outputs, and whether those that must be there have names.
    void check_counts(Findings& findings, const NodeParts& parts, const FieldPath& path) const;
    /// One attribute.
    void check_attribute(Findings& findings, const AttributeParts& attribute,
                         const FieldPath& path) const;
    /// Whether the attributes that the operator needs are among `names`.
    void check_attributes(Findings& findings, const model::NameTable& names,
                          const FieldPath& path) const;

    /// What is known of the operator that it calls, if it is no function and not deprecated.
    [[nodiscard]] const KnownOperators::Found& known() const noexcept { return found_; }
    /// The position of the function of the model that it is.
    [[nodiscard]] std::optional<std::uint32_t> function() const noexcept { return position_; }
    /// Whether nobody describes it.
    [[nodiscard]] bool is_not_described() const noexcept { return is_not_described_; }

  private:
    [[nodiscard]] std::string title() const;

    KnownOperators::Found found_;
    const Functions::Signature* function_ = nullptr;
    std::optional<std::uint32_t> position_;  // of the function
    std::string_view name_;
    bool is_not_described_ = false;
};

/// The type that an attribute gives the first output of an operator that is known to have one. A
/// finding if the operator does not make that type.
[[nodiscard]] onnx::ValueType decided_type(Findings& findings, const onnx::Operator& op,
                                           const onnx::Message& node, const NodeParts& parts,
                                           const FieldPath& path);

}  // namespace onnxmap::check
