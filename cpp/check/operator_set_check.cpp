#include "check/operator_set_check.hpp"

#include <string>

#include "check/function_check.hpp"
#include "check/string_check.hpp"
#include "model/name_table.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

constexpr std::string_view kMagic = "ONNXOPSET";

void check_form(Checking& checking, const onnx::Message& set, const wire::FieldRow& row,
                const FieldPath& root) {
    const auto text = set.text(row);
    if (text.empty() || is_semver_part(text)) return;
    checking.found(Rule::operator_set_prerelease, FieldPath{&root, &row},
                   {Quoted(text), " is not in the form of Semantic Versioning"});
}

void check_function(Checking& checking, const onnx::Message& function, const FieldPath& path,
                    model::NameTable& names) {
    const auto name = function.text(field<"FunctionProto.name">);
    const auto domain = function.text(field<"FunctionProto.domain">);
    if (!domain.empty() && plain_domain(domain) != plain_domain(checking.set->domain)) {
        checking.found(Rule::operator_set_function_domain, path,
                       {"the function is of the domain ", Quoted(domain), ", and the set of ",
                        Quoted(checking.set->domain)});
    }
    if (names.find(name)) {
        checking.found(Rule::operator_set_operator_name, path,
                       {"an operator of the set has the name ", Quoted(name)});
    }
}

void check_members(Checking& checking, const onnx::Message& set, const FieldPath& root) {
    const wire::FieldRow& row = field<"OperatorSetProto.operator">;
    const std::int64_t version = set.int64(field<"OperatorSetProto.opset_version">);
    model::NameTable names;
    for_each_child(set, row, root, [&](const onnx::Message& each, const FieldPath& path) {
        const auto name = each.text(field<"OperatorProto.op_type">);
        check_identifier(checking.findings, name, path);
        if (name.empty()) {
            checking.found(Rule::operator_set_operator_name, path, "the operator has no op_type");
        } else if (!names.add(name).is_new) {
            checking.found(Rule::operator_set_operator_name, path,
                           {"another operator before it has the name ", Quoted(name)});
        }
        const std::int64_t since = each.int64(field<"OperatorProto.since_version">);
        if (since < 1 || since > version) {
            checking.found(Rule::operator_set_since_version, path,
                           {"since_version of ", Quoted(name), " is ", since});
        }
    });
    const wire::FieldRow& functions = field<"OperatorSetProto.functions">;
    for_each_child(set, functions, root, [&](const onnx::Message& value, const FieldPath& at) {
        check_function(checking, value, at, names);
    });
}

}  // namespace

void check_operator_set(Checking& checking, const onnx::Message& set, const FieldPath& root) {
    if (set.text(field<"OperatorSetProto.magic">) != kMagic) {
        checking.found(Rule::operator_set_magic, root,
                       {"magic is ", Quoted(set.text(field<"OperatorSetProto.magic">))});
    }
    for (const wire::FieldRow* const row :
         {&field<"OperatorSetProto.ir_version">, &field<"OperatorSetProto.opset_version">}) {
        const std::int64_t version = set.int64(*row);
        if (version >= 1) continue;
        checking.found(Rule::operator_set_version, FieldPath{&root, row},
                       {row->name, " is ", version});
    }
    const auto domain = set.text(field<"OperatorSetProto.domain">);
    check_reverse_dns(checking.findings, Rule::operator_set_domain, domain,
                      FieldPath{&root, &field<"OperatorSetProto.domain">});
    check_form(checking, set, field<"OperatorSetProto.ir_version_prerelease">, root);
    check_form(checking, set, field<"OperatorSetProto.ir_build_metadata">, root);
    checking.set.emplace(domain, set.int64(field<"OperatorSetProto.opset_version">));
    check_members(checking, set, root);
    checking.ir_version = set.int64(field<"OperatorSetProto.ir_version">);
    const wire::FieldRow& functions = field<"OperatorSetProto.functions">;
    note_functions(checking, set, functions, root);
    check_functions(checking, set, functions, root);
}

}  // namespace onnxmap::check
