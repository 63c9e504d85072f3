#include "check/node_check.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "check/attribute_check.hpp"
#include "check/metadata_check.hpp"
#include "check/operator_check.hpp"
#include "model/ep_context.hpp"
#include "model/name_table.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

void check_trailing(Findings& findings, const std::vector<std::string_view>& names,
                    const wire::FieldRow& row, const FieldPath& path) {
    if (names.empty() || !names.back().empty()) return;
    const FieldPath last{&path, &row, names.size() - 1};
    findings.add(Rule::node_trailing_empty, last, "the last name of the list is empty");
}

// Whether an attribute holds messages.
bool check_attributes(const Checking& checking, Findings& findings, const onnx::Message& node,
                      const NodeParts& parts, const FieldPath& path, const Owner& owner,
                      const Callee& callee) {
    const wire::FieldRow& row = field<"NodeProto.attribute">;
    bool is_nested = false;
    model::NameTable names;
    for (std::uint64_t i = 0; i < parts.attributes.size(); ++i) {
        const onnx::Message message = node.inner(row, parts.attributes[i]);
        AttributeParts attribute = parts_of(message);
        // The part of a model that is compiled for a device.
        if (model::is_ep_context(parts.domain, parts.op_type)) attribute.bad_string = nullptr;
        const std::string_view name = attribute.name;
        const bool is_repeated = !name.empty() && !names.add(name).is_new;
        const FieldPath here{&path, &row, i, is_repeated ? std::string_view() : name};
        if (is_repeated) {
            findings.add(Rule::node_attribute_repeated, here,
                         {"another attribute before it has the name ", Quoted(name)});
        }
        if (!name.empty() && parts.uses(name)) {
            findings.add(Rule::node_attribute_name, here,
                         {"the attribute has the name of the value ", Quoted(name)});
        }
        if (attribute.has_bad_text) check_texts(findings, message, here);
        check_attribute(checking.ir_version, findings, attribute, here, &owner);
        callee.check_attribute(findings, attribute, here);
        is_nested = is_nested || attribute.has_messages;
    }
    callee.check_attributes(findings, names, path);
    return is_nested;
}

void check_operator(const Checking& checking, Findings& findings, const NodeParts& parts,
                    const FieldPath& path, const Owner& owner) {
    if (parts.op_type.empty()) {
        findings.add(Rule::node_op_type, path,
                     {"the node ", Quoted(parts.name), " has no op_type"});
        return;
    }
    check_identifier(findings, parts.op_type, path);
    if (!owner.imports.find(parts.domain)) {
        findings.add(Rule::node_domain, path,
                     {"the node ", Quoted(parts.title()), " has an operator of the domain ",
                      Quoted(parts.domain), ", which is not imported"});
    }
    if (parts.overload.empty()) return;
    if (!checking.functions.find(parts.domain, parts.op_type, parts.overload)) {
        findings.add(Rule::node_overload, path,
                     {"the model has no function ", Quoted(parts.op_type), " with the overload ",
                      Quoted(parts.overload)});
    }
}

void check_devices(const Checking& checking, Findings& findings, const onnx::Message& node,
                   const NodeParts& parts, const FieldPath& path) {
    const wire::FieldRow& row = field<"NodeProto.device_configurations">;
    const wire::FieldRow& sharding = field<"NodeDeviceConfigurationProto.sharding_spec">;
    for (std::uint64_t i = 0; i < parts.devices.size(); ++i) {
        const onnx::Message device = node.inner(row, parts.devices[i]);
        const FieldPath here{&path, &row, i};
        const auto id = device.text(field<"NodeDeviceConfigurationProto.configuration_id">);
        if (!checking.devices.find(id)) {
            findings.add(Rule::model_device, here,
                         {"the model has no device configuration ", Quoted(id)});
        }
        for_each_child(
            device, sharding, here, [&](const onnx::Message& value, const FieldPath& at) {
                const auto tensor = value.text(field<"ShardingSpecProto.tensor_name">);
                if (parts.uses(tensor)) return;
                findings.add(Rule::model_device, at,
                             {Quoted(tensor), " is neither an input nor an output of the node"});
            });
    }
}

void check_field_versions(std::int64_t ir_version, Findings& findings, const NodeParts& parts,
                          const FieldPath& path) {
    if (!parts.overload.empty()) {
        check_field_version(ir_version, findings, field<"NodeProto.overload">, 10, path);
    }
    if (!parts.devices.empty()) {
        check_field_version(ir_version, findings, field<"NodeProto.device_configurations">, 11,
                            path);
    }
    if (parts.has_metadata) {
        check_field_version(ir_version, findings, field<"NodeProto.metadata_props">, 10, path);
    }
}

// A runtime may run the nodes of a function with the operators of its model.
// Source: onnx.proto, ModelProto.functions, and check_opset_compatibility() in onnx's checker.cc.
void check_same_in_model(const Owner& owner, const Callee& callee, Findings& findings,
                         const NodeParts& parts, const FieldPath& path) {
    const auto& own = callee.known().operator_;
    if (owner.of_model == nullptr || !own || !owner.of_model->describes(parts.domain)) return;
    const auto in_model = owner.of_model->find(parts.domain, parts.op_type).operator_;
    if (in_model && in_model->position() == own->position()) return;
    findings.add(Rule::function_opset_version, path, [&] {
        return "the function has " + std::string(own->name()) + " of version " +
               std::to_string(own->since()) + ", and the model's operator set " +
               (in_model ? "that of version " + std::to_string(in_model->since()) : "has none");
    });
}

void check_file(const Checking& checking, Findings& findings, const onnx::Message& node,
                const FieldPath& path) {
    const auto attribute = model::file_attribute(model::Node(node));
    if (!attribute) return;
    try {
        static_cast<void>(
            checking.document.store().external.open(model::location_of(*attribute), {}));
    } catch (const Error& error) {
        if (!error.code.starts_with("ext.")) throw;
        findings.add(Rule::node_ep_context_file, path, error.what());
    }
}

}  // namespace

NodeFacts check_node_alone(const Checking& checking, Findings& findings, const onnx::Message& node,
                           const NodeParts& parts, const FieldPath& path, const Owner& owner) {
    check_operator(checking, findings, parts, path, owner);
    const Callee callee(checking, findings, parts, path, owner);
    callee.check_counts(findings, parts, path);
    check_same_in_model(owner, callee, findings, parts, path);
    if (parts.has_no_output()) {
        findings.add(Rule::node_outputs, path,
                     {"the node ", Quoted(parts.title()), " has no output"});
    } else {
        check_trailing(findings, parts.outputs, field<"NodeProto.output">, path);
    }
    check_trailing(findings, parts.inputs, field<"NodeProto.input">, path);
    if (parts.has_bad_text) check_texts(findings, node, path);
    check_field_versions(checking.ir_version, findings, parts, path);
    if (!parts.devices.empty()) check_devices(checking, findings, node, parts, path);
    if (parts.has_metadata) {
        check_metadata(findings, node, field<"NodeProto.metadata_props">, path);
    }
    if (model::is_ep_context(parts.domain, parts.op_type))
        check_file(checking, findings, node, path);
    check_identifier(findings, parts.name, path);
    NodeFacts facts{.known = callee.known().operator_,
                    .shape_rule = callee.known().shape_rule,
                    .function = callee.function(),
                    .is_not_described = callee.is_not_described()};
    if (!parts.attributes.empty()) {
        facts.is_nested = check_attributes(checking, findings, node, parts, path, owner, callee);
    } else {
        callee.check_attributes(findings, model::NameTable(), path);
    }
    if (callee.known().decides_type) {
        facts.decided = decided_type(findings, *facts.known, node, parts, path);
    }
    return facts;
}

void check_nested(Checking& checking, const onnx::Message& node, const FieldPath& path,
                  NodeListCheck& body) {
    const wire::FieldRow& row = field<"NodeProto.attribute">;
    std::uint64_t i = 0;
    node.for_each_child(row, [&](const onnx::Message& attribute) {
        const std::string_view name = attribute.text(field<"AttributeProto.name">);
        check_attribute_messages(checking, attribute, FieldPath{&path, &row, i++, name}, body);
    });
}

}  // namespace onnxmap::check
