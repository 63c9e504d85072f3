#include "model/ep_context.hpp"

#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"
#include "tensor/store.hpp"

namespace onnxmap::model {

using onnx::field;

std::optional<Attribute> file_attribute(const Node& node) {
    if (!is_ep_context(node.domain(), node.op_type())) return std::nullopt;
    std::optional<Attribute> found;
    bool is_outside = false;  // without embed_mode, the context is in the attribute
    for (const Attribute& each : node.attributes()) {
        const wire::FieldRow* const row = each.value_field();
        if (each.name() == "embed_mode" && row == &field<"AttributeProto.i">) {
            is_outside = each.message().int64(*row) == 0;
        }
        if (each.name() == "ep_cache_context" && row == &field<"AttributeProto.s">) found = each;
    }
    return is_outside && found && !location_of(*found).empty() ? found : std::nullopt;
}

std::string_view location_of(const Attribute& attribute) {
    return attribute.message().text(field<"AttributeProto.s">);
}

void for_each_ep_context_file(
    const Document& document,
    const std::function<void(const std::string&, const Attribute&)>& visit) {
    const auto visit_node = [&](const std::string& path, const onnx::Message& message) {
        if (const auto attribute = file_attribute(Node(message))) visit(path, *attribute);
    };
    for_each_node(document, visit_node);
}

std::shared_ptr<const source::Source> open_ep_context_file(const Document& document,
                                                           const Attribute& attribute,
                                                           const std::string& path) {
    try {
        return document.store().external.open(location_of(attribute), {});
    } catch (const Error& error) {
        throw with_text(error, "node " + path + ": " + error.what());
    }
}

}  // namespace onnxmap::model
