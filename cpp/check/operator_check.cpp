#include "check/operator_check.hpp"

#include <algorithm>

#include "check/operator_hints.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

constexpr std::size_t kAny = SIZE_MAX;

std::size_t limit(std::size_t most) noexcept {
    return most == onnx::Operator::kUnlimited ? kAny : most;
}

std::string range_text(std::size_t least, std::size_t most, std::string_view what) {
    std::string text;
    if (least == most) {
        text = std::to_string(least);
    } else if (most == kAny) {
        text = "at least " + std::to_string(least);
    } else {
        text = std::to_string(least) + " to " + std::to_string(most);
    }
    text.append(" ").append(what);
    return most == 1 || (most == kAny && least == 1) ? text : text + "s";
}

// Operators of the default domain that were never in a version of it, and that old models have.
// Source: check_is_experimental_op() in onnx's checker.cc.
constexpr std::string_view kExperimental[] = {
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
};

// What schemas have, and onnx.defs does not tell: all outputs or one, and attributes of any name.
// Source: NumOutputs() of BatchNormalization, AllowUncheckedAttributes() of LayerNormalization.
bool has_all_outputs_or_one(const onnx::Operator& op) { return op.name() == "BatchNormalization"; }
bool takes_any_attribute(const onnx::Operator& op) { return op.name() == "LayerNormalization"; }

// The inputs or outputs of a node, and how many its callee has.
struct Names {
    Rule rule;
    std::string_view what;
    const wire::FieldRow& row;
    const std::vector<std::string_view>& names;
    std::size_t least;
    std::size_t most;
    bool all_or_one = false;
};

// `title()`: of the callee.
template <class Title>
void check_count(Findings& findings, const Names& each, Title&& title, std::string_view node,
                 const FieldPath& path) {
    const std::size_t count = each.names.size();
    const bool is_between = each.least < count && count < each.most;
    if (each.least <= count && count <= each.most && !(each.all_or_one && is_between)) return;
    findings.add(each.rule, path, [&] {
        const std::string range = each.all_or_one ? "1 or " + std::to_string(each.most) + " outputs"
                                                  : range_text(each.least, each.most, each.what);
        return title() + " has " + range + ", and the node " + in_quotes(node) + " has " +
               std::to_string(count);
    });
}

template <class Title, class Parameters>
void check_required(Findings& findings, const Names& each, Title&& title, const FieldPath& path,
                    Parameters&& parameter) {
    for (std::size_t i = 0; i < each.names.size(); ++i) {
        if (!each.names[i].empty() || !parameter(i).required) continue;
        findings.add(each.rule, FieldPath{&path, &each.row, i}, [&] {
            return std::string(each.what) + " " + std::to_string(i) + " of " + title() +
                   " is not optional, and the node leaves it out";
        });
    }
}

struct Words {
    std::string_view attribute;
    std::string_view operators;
    std::string_view words;
};
constexpr Words kWords[] = {
#define WORDS(...) {__VA_ARGS__},
#include "check/words.def"
#undef WORDS
};

bool is_in(std::string_view word, std::string_view list) {
    while (true) {
        const std::size_t end = list.find(' ');
        if (list.substr(0, end) == word) return true;
        if (end == std::string_view::npos) return false;
        list.remove_prefix(end + 1);
    }
}

// The words that an attribute may be, if `word` is none of them.
std::string_view other_words(const onnx::Operator& op, std::string_view attribute,
                             std::string_view word) {
    const auto* const row = std::ranges::find_if(kWords, [&](const Words& each) {
        return each.attribute == attribute &&
               (each.operators.empty() || is_in(op.name(), each.operators));
    });
    const bool is_other = row != std::end(kWords) && !word.empty() && !is_in(word, row->words);
    return is_other ? row->words : std::string_view();
}

bool says_type(std::string_view attribute) {
    return std::ranges::find(kTypeAttributes, attribute) != std::end(kTypeAttributes);
}

using TypeKind = onnx::ValueType::Kind;
struct UsualType {
    std::string_view name;  // of an operator
    onnx::ValueType type;   // of its output, if no attribute and no input says another
};
// Source: the defaults of such attributes in onnx.defs.
constexpr UsualType kUsualTypes[] = {
    {"BlackmanWindow", {TypeKind::tensor, 1}},  {"ConstantOfShape", {TypeKind::tensor, 1}},
    {"HammingWindow", {TypeKind::tensor, 1}},   {"HannWindow", {TypeKind::tensor, 1}},
    {"Multinomial", {TypeKind::tensor, 6}},     {"QuantizeLinear", {TypeKind::tensor, 2}},
    {"RandomNormal", {TypeKind::tensor, 1}},    {"RandomUniform", {TypeKind::tensor, 1}},
    {"SequenceEmpty", {TypeKind::sequence, 1}},
};

// `number`: of an element type, which an attribute gives the first output.
std::string wrong_type_text(const onnx::Operator& op, std::string_view attribute,
                            std::int64_t number) {
    const onnx::ValueType type(TypeKind::tensor, number);
    const bool is_known = onnx::find_data_type(static_cast<std::int32_t>(number)) != nullptr;
    return "the attribute " + in_quotes(attribute) + " is " +
           (type.is_known() && is_known ? type.text() : std::to_string(number)) + ", which " +
           std::string(op.name()) + " of version " + std::to_string(op.since()) + " does not make";
}

}  // namespace

Callee::Callee(const Checking& checking, Findings& findings, const NodeParts& parts,
               const FieldPath& path, const Owner& owner)
    : name_(parts.op_type) {
    if (owner.operators == nullptr || parts.op_type.empty()) return;
    found_ = owner.operators->find(parts.domain, parts.op_type);
    if (!checking.functions.empty()) {
        position_ = checking.functions.find(parts.domain, parts.op_type, parts.overload);
    }
    // Readers use the operator of ONNX if a function has its name.
    if (position_ && !found_.operator_) {
        function_ = &checking.functions.signature(*position_);
        return;
    }
    const auto version = owner.imports.find(parts.domain);
    if (!version || *version < 1) return;  // other rules say so
    if (!found_.is_described) {
        is_not_described_ = true;
    } else if (!found_.operator_) {
        const bool is_standard = plain_domain(parts.domain).empty();
        if (is_standard && std::ranges::find(kExperimental, name_) != std::end(kExperimental))
            return;
        findings.add(Rule::operator_unknown, path, [&] {
            return "version " + std::to_string(*version) + " of " +
                   (is_standard ? "ai.onnx" : std::string(parts.domain)) + " has no operator " +
                   in_quotes(parts.op_type) +
                   unknown_operator_hint(parts.domain, *version, parts.op_type);
        });
    } else if (found_.operator_->deprecated()) {
        findings.add(Rule::operator_deprecated, path, [&] {
            return title() + " is deprecated" + replacement_hint(*found_.operator_) +
                   "; the node " + in_quotes(parts.title()) + " uses it";
        });
        found_ = {};
    }
}

std::string Callee::title() const {
    if (function_ != nullptr) return "the function " + in_quotes(name_);
    return std::string(name_) + " of version " + std::to_string(found_.operator_->since());
}

void Callee::check_counts(Findings& findings, const NodeParts& parts, const FieldPath& path) const {
    const std::optional<onnx::Operator>& op = found_.operator_;
    if (function_ == nullptr && !op) return;
    Names inputs{Rule::operator_inputs, "input", field<"NodeProto.input">, parts.inputs, 0, 0};
    Names outputs{Rule::operator_outputs, "output", field<"NodeProto.output">, parts.outputs, 0, 0};
    const auto title = [this] { return this->title(); };
    if (function_ != nullptr) {
        // Those at the end of the list may be left out.
        inputs.most = function_->inputs;
        outputs.most = function_->outputs;
    } else {
        inputs.least = op->least_inputs();
        inputs.most = limit(op->most_inputs());
        outputs.least = op->least_outputs();
        outputs.most = limit(op->most_outputs());
        outputs.all_or_one = has_all_outputs_or_one(*op);
        check_required(findings, inputs, title, path, [&](std::size_t i) { return op->input(i); });
    }
    check_count(findings, inputs, title, parts.title(), path);
    if (parts.has_no_output()) return;  // the rule node.outputs says so
    check_count(findings, outputs, title, parts.title(), path);
    if (op) {
        check_required(findings, outputs, title, path,
                       [&](std::size_t i) { return op->output(i); });
    }
}

void Callee::check_attribute(Findings& findings, const AttributeParts& attribute,
                             const FieldPath& path) const {
    const std::string_view name = attribute.name;
    const auto unknown = [&] {
        findings.add(Rule::operator_attribute_unknown, path, [&] {
            return title() + " has no attribute " + in_quotes(name) +
                   (found_.operator_ ? unknown_attribute_hint(*found_.operator_, name) : "");
        });
    };
    if (function_ != nullptr) {
        if (!function_->attributes.find(name)) unknown();
        return;
    }
    if (!found_.operator_ || name.empty()) return;
    const auto known = found_.operator_->attribute(name);
    if (!known) {
        // Source: isInternalSymbol() in onnx's defs/schema.cc.
        const bool is_allowed = name.starts_with("__") || takes_any_attribute(*found_.operator_);
        if (!is_allowed) unknown();
        return;
    }
    if (const auto words = other_words(*found_.operator_, name, attribute.text); !words.empty()) {
        findings.add(Rule::operator_attribute_value, path,
                     {"the attribute ", Quoted(name), " of ", title(), " is ",
                      Quoted(attribute.text), ", and none of: ", words});
    }
    const std::int32_t type = attribute.type.value_or(0);
    if (type == 0 || type == known->type) return;
    findings.add(
        Rule::operator_attribute_type, path,
        {"the attribute ", Quoted(name), " of ", title(), " is ", attribute_type_text(known->type),
         ", and that of the node ", attribute_type_text(type)});
}

void Callee::check_attributes(Findings& findings, const model::NameTable& names,
                              const FieldPath& path) const {
    if (!found_.operator_ || !found_.operator_->needs_attributes()) return;
    found_.operator_->for_each_attribute([&](const onnx::Operator::Attribute& each) {
        if (!each.required || names.find(each.name)) return;
        findings.add(Rule::operator_attribute_missing, path,
                     {title(), " needs the attribute ", Quoted(each.name),
                      ", and the node has none of that name"});
    });
}

onnx::ValueType decided_type(Findings& findings, const onnx::Operator& op,
                             const onnx::Message& node, const NodeParts& parts,
                             const FieldPath& path) {
    const bool is_constant = op.name() == "Constant";
    for (std::uint64_t i = 0; i < parts.attributes.size(); ++i) {
        const wire::FieldRow& row = field<"NodeProto.attribute">;
        const onnx::Message attribute = node.inner(row, parts.attributes[i]);
        const std::string_view name = attribute.text(field<"AttributeProto.name">);
        const bool is_value = name == "value";
        const bool is_number = is_constant && name.starts_with("value_");
        if (!is_value && !is_number && !says_type(name)) continue;
        if (attribute.has(field<"AttributeProto.ref_attr_name">)) return {};  // the caller's
        if (is_value) {
            const auto tensor = attribute.child(field<"AttributeProto.t">);
            if (!tensor) return {};
            return {TypeKind::tensor, tensor->int64(field<"TensorProto.data_type">)};
        }
        if (is_number) {
            const bool is_float = name.starts_with("value_float");
            return {TypeKind::tensor, is_float ? 1 : name.starts_with("value_int") ? 7 : 8};
        }
        const std::int64_t number = attribute.int64(field<"AttributeProto.i">);
        const onnx::TypeSet& types = op.types(op.output(0).letter);
        for (const TypeKind kind : {TypeKind::tensor, TypeKind::sequence}) {
            if (types.has({kind, number})) return {kind, number};
        }
        const auto known = op.attribute(name);
        const bool is_default = number == 0 && known && !known->required;
        if (!is_default && known && attribute.has(field<"AttributeProto.i">)) {
            findings.add(Rule::operator_type, FieldPath{&path, &row, i, name},
                         [&] { return wrong_type_text(op, name, number); });
        }
    }
    const auto* const usual = std::ranges::find(kUsualTypes, op.name(), &UsualType::name);
    return usual == std::end(kUsualTypes) ? onnx::ValueType() : usual->type;
}

}  // namespace onnxmap::check
