#include "check/body_check.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "check/node_parts.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

constexpr std::string_view kWithBodies[] = {"If", "Loop", "Scan", "SequenceMap"};
constexpr std::size_t kBeforeCarried = 2;  // inputs of a Loop: the number of runs, the condition
constexpr std::int64_t kFirstScanWithoutLengths = 9;

bool types_differ(onnx::ValueType a, onnx::ValueType b) noexcept {
    return a.is_known() && b.is_known() && a.data_type() != b.data_type();
}

void check_count(Checking& checking, const FieldPath& path, std::size_t has, std::size_t needs,
                 const char* what) {
    if (has == needs) return;
    checking.found(Rule::operator_body, path, [&] {
        return "the graph has " + std::to_string(has) + what + (has == 1 ? "" : "s") +
               ", and its node needs " + std::to_string(needs);
    });
}

}  // namespace

std::string type_text(Checking& checking, const SignatureTypes::Input& input) {
    return in_quotes(checking.visible.names().name(input.value)) + " is " + input.type.text();
}

void BodyCheck::begin(std::uint64_t node, const onnx::Message& message,
                      const SignatureTypes& types) {
    const onnx::Operator* const op = types.called(node);
    *this = BodyCheck();
    const bool is_known = op != nullptr && op->domain() == 0 &&
                          std::ranges::find(kWithBodies, op->name()) != std::end(kWithBodies);
    if (!is_known) return;
    NodeParts parts;
    parts.read(message);
    node_ = node;
    is_open_ = true;
    inputs_ = parts.inputs.size();
    outputs_ = parts.outputs.size();
    makes_sequences_ = op->name() == "SequenceMap";
    if (op->name() == "If") {
        skipped_ = inputs_;
    } else if (op->name() == "Loop") {
        inputs_ = std::max(inputs_, kBeforeCarried);
        carried_ = inputs_ - kBeforeCarried;
        more_outputs_ = 1;  // the condition
    } else if (op->name() == "Scan" && op->since() < kFirstScanWithoutLengths) {
        skipped_ = std::min<std::size_t>(inputs_, 1);
    }
    inputs_ -= skipped_;
    outputs_ += more_outputs_;
}

void BodyCheck::judge(Checking& checking, const FieldPath& path, BodyTypes body,
                      const SignatureTypes& types) {
    if (!is_open_) return;
    // Before IR version 4, each initializer is an input as well, and no node gives it a value.
    if (body.inputs.size() > inputs_)
        std::erase_if(body.inputs, [](const auto& each) { return each.has_initializer; });
    check_count(checking, path, body.inputs.size(), inputs_, " input");
    check_count(checking, path, body.outputs.size(), outputs_, " output");
    judge_inputs(checking, path, body, types);
    judge_outputs(checking, path, body);
    if (!first_) first_ = std::move(body);
}

void BodyCheck::judge_inputs(Checking& checking, const FieldPath& path, const BodyTypes& body,
                             const SignatureTypes& types) const {
    std::size_t i = 0;
    for (const BodyTypes::Input& input : body.inputs) {
        const SignatureTypes::Input* const given = types.find_input(skipped_ + i++);
        if (given == nullptr || !types_differ(input.type, given->type)) continue;
        const FieldPath at{&path, &field<"GraphProto.input">, input.position};
        checking.found(
            Rule::operator_body, at,
            {"the graph takes ", input.type.text(), ", and ", type_text(checking, *given)});
    }
}

void BodyCheck::judge_outputs(Checking& checking, const FieldPath& path, const BodyTypes& body) {
    const auto found = [&](std::size_t i, const char* what, onnx::ValueType other) {
        checking.found(Rule::operator_body, FieldPath{&path, &field<"GraphProto.output">, i},
                       {"the value is ", body.outputs[i].text(), what, other.text()});
    };
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
        const onnx::ValueType type = body.outputs[i];
        const bool is_carried = i > 0 && i <= carried_ && i + 1 < body.inputs.size();
        if (is_carried && types_differ(type, body.inputs[i + 1].type)) {
            found(i, ", and the next run takes it as ", body.inputs[i + 1].type);
        }
        if (!first_ || i >= first_->outputs.size()) continue;
        onnx::ValueType& other = first_->outputs[i];
        if (type.is_known() && other.is_known() && type != other) {
            found(i, ", and that of the other branch ", other);
            other = {};  // one finding is enough
        }
    }
}

onnx::ValueType BodyCheck::input(std::uint64_t position, const SignatureTypes& types) const {
    if (!is_open_ || position >= inputs_) return {};
    const SignatureTypes::Input* const given = types.find_input(skipped_ + position);
    if (given == nullptr || !makes_sequences_)
        return given == nullptr ? onnx::ValueType() : given->type;
    return {onnx::ValueType::Kind::tensor, given->type.data_type()};  // an element of a sequence
}

onnx::ValueType BodyCheck::output(std::uint64_t node, std::uint32_t slot) const {
    const std::size_t i = slot + more_outputs_;
    if (node != node_ || !first_ || i >= first_->outputs.size()) return {};
    const onnx::ValueType type = first_->outputs[i];
    if (!makes_sequences_) return type;
    return {onnx::ValueType::Kind::sequence, type.data_type()};
}

}  // namespace onnxmap::check
