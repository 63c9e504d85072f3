// The fields of a NodeProto, found in one walk over it.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "check/string_check.hpp"
#include "model/name_table.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

struct NodeParts {
    std::string_view name;
    std::string_view op_type;
    std::string_view domain;
    std::string_view overload;
    std::vector<std::string_view> inputs;
    std::vector<std::string_view> outputs;
    std::vector<wire::Field> attributes;
    std::vector<wire::Field> devices;  // the configurations
    bool has_metadata = false;
    bool has_bad_text = false;  // whether a text is not UTF-8

    /// Reads another node; the vectors keep their memory.
    void read(const onnx::Message& node) {
        using onnx::field;
        name = op_type = domain = overload = {};
        inputs.clear();
        outputs.clear();
        attributes.clear();
        devices.clear();
        has_metadata = has_bad_text = false;
        names_.reset();
        node.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
            if (row != nullptr && row->type == wire::Type::string) {
                has_bad_text = has_bad_text || !is_utf8(found.text());
            }
            if (row == &field<"NodeProto.input">) {
                inputs.push_back(found.text());
            } else if (row == &field<"NodeProto.output">) {
                outputs.push_back(found.text());
            } else if (row == &field<"NodeProto.attribute">) {
                attributes.push_back(found);
            } else if (row == &field<"NodeProto.name">) {
                name = found.text();
            } else if (row == &field<"NodeProto.op_type">) {
                op_type = found.text();
            } else if (row == &field<"NodeProto.domain">) {
                domain = found.text();
            } else if (row == &field<"NodeProto.overload">) {
                overload = found.text();
            } else if (row == &field<"NodeProto.device_configurations">) {
                devices.push_back(found);
            } else if (row == &field<"NodeProto.metadata_props">) {
                has_metadata = true;
            }
        });
    }

    /// What a message calls the node.
    [[nodiscard]] std::string_view title() const noexcept { return name.empty() ? op_type : name; }

    [[nodiscard]] bool has_no_output() const noexcept {
        return std::ranges::all_of(outputs, [](auto each) { return each.empty(); });
    }

    /// Whether an input or an output has the name.
    [[nodiscard]] bool uses(std::string_view value) const {
        if (inputs.size() + outputs.size() <= kFew) {
            return std::ranges::find(inputs, value) != inputs.end() ||
                   std::ranges::find(outputs, value) != outputs.end();
        }
        if (!names_) {
            names_.emplace();
            for (const auto each : inputs) names_->add(each);
            for (const auto each : outputs) names_->add(each);
        }
        return names_->find(value).has_value();
    }

  private:
    static constexpr std::size_t kFew = 16;  // for which a loop is faster than a table

    mutable std::optional<model::NameTable> names_;
};

}  // namespace onnxmap::check
