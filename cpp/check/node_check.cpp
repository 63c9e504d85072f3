#include "check/node_check.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check/attribute_check.hpp"
#include "check/metadata_check.hpp"
#include "model/name_table.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

void check_trailing(Checking& checking, const std::vector<std::string_view>& names,
                    const wire::FieldRow& row, const Place& place) {
    if (names.empty() || !names.back().empty()) return;
    const Place last{&place, &row, names.size() - 1};
    checking.found(Rule::node_trailing_empty, last, "the last name of the list is empty");
}

// Names in a list of which most have few, so that a table is made for long ones alone.
class SeenNames {
  public:
    /// Whether the name is new.
    bool add(std::string_view name) {
        if (few_.size() < kFew) {
            if (std::ranges::find(few_, name) != few_.end()) return false;
            few_.push_back(name);
            return true;
        }
        if (many_.size() == 0) {
            for (const auto each : few_) many_.add(each);
        }
        return many_.add(name).is_new;
    }

  private:
    static constexpr std::size_t kFew = 16;

    std::vector<std::string_view> few_;
    model::NameTable many_;
};

void check_attributes(Checking& checking, const onnx::Message& node, const NodeParts& parts,
                      const Place& place, Body& body) {
    if (parts.attributes.empty()) return;
    const wire::FieldRow& row = field<"NodeProto.attribute">;
    SeenNames names;
    for (std::uint64_t i = 0; i < parts.attributes.size(); ++i) {
        const onnx::Message attribute = node.inner(row, parts.attributes[i]);
        const std::string_view name = attribute.text(field<"AttributeProto.name">);
        const bool is_repeated = !name.empty() && !names.add(name);
        const Place here{&place, &row, i, is_repeated ? std::string_view() : name};
        if (is_repeated) {
            checking.found(Rule::node_attribute_repeated, here, [&] {
                return "another attribute before it has the name " + quoted(name);
            });
        }
        if (!name.empty() && parts.uses(name)) {
            checking.found(Rule::node_attribute_name, here, [&] {
                return "the attribute has the name of the value " + quoted(name);
            });
        }
        check_attribute(checking, attribute, here, &body);
    }
}

void check_operator(Checking& checking, const NodeParts& parts, const Place& place,
                    const Body& body) {
    if (parts.op_type.empty()) {
        checking.found(Rule::node_op_type, place,
                       [&] { return "the node " + quoted(parts.name) + " has no op_type"; });
        return;
    }
    if (!body.owner().imports.find(parts.domain)) {
        checking.found(Rule::node_domain, place, [&] {
            return "the node " + quoted(parts.title()) + " has an operator of the domain " +
                   quoted(parts.domain) + ", which is not imported";
        });
    }
    if (checking.functions.empty() && parts.overload.empty()) return;
    const auto called = checking.functions.find(parts.domain, parts.op_type, parts.overload);
    if (called && body.owner().function) {
        checking.functions.note_call(*body.owner().function, *called);
    } else if (!called && !parts.overload.empty()) {
        checking.found(Rule::node_overload, place, [&] {
            return "the model has no function " + quoted(parts.op_type) + " with the overload " +
                   quoted(parts.overload);
        });
    }
}

void check_devices(Checking& checking, const onnx::Message& node, const NodeParts& parts,
                   const Place& place) {
    const wire::FieldRow& row = field<"NodeProto.device_configurations">;
    const wire::FieldRow& sharding = field<"NodeDeviceConfigurationProto.sharding_spec">;
    for (std::uint64_t i = 0; i < parts.devices.size(); ++i) {
        const onnx::Message device = node.inner(row, parts.devices[i]);
        const Place here{&place, &row, i};
        const auto id = device.text(field<"NodeDeviceConfigurationProto.configuration_id">);
        if (!checking.devices.find(id)) {
            checking.found(Rule::model_device, here,
                           [&] { return "the model has no device configuration " + quoted(id); });
        }
        std::uint64_t spec = 0;
        device.for_each_value(sharding, [&](const wire::Field& value) {
            const Place at{&here, &sharding, spec++};
            const auto tensor =
                device.inner(sharding, value).text(field<"ShardingSpecProto.tensor_name">);
            if (parts.uses(tensor)) return;
            checking.found(Rule::model_device, at, [&] {
                return quoted(tensor) + " is neither an input nor an output of the node";
            });
        });
    }
}

}  // namespace

void check_node_alone(Checking& checking, const onnx::Message& node, const NodeParts& parts,
                      const Place& place, Body& body) {
    check_operator(checking, parts, place, body);
    if (std::ranges::all_of(parts.outputs, [](auto name) { return name.empty(); })) {
        checking.found(Rule::node_outputs, place,
                       [&] { return "the node " + quoted(parts.title()) + " has no output"; });
    } else {
        check_trailing(checking, parts.outputs, field<"NodeProto.output">, place);
    }
    check_trailing(checking, parts.inputs, field<"NodeProto.input">, place);
    check_attributes(checking, node, parts, place, body);
    if (!parts.devices.empty()) check_devices(checking, node, parts, place);
    if (parts.has_metadata) {
        check_metadata(checking, node, field<"NodeProto.metadata_props">, place);
    }
    checking.check_identifier(parts.name, place);
}

}  // namespace onnxmap::check
