#include "model/initializer_casts.hpp"

#include <string>

#include "base/ascii.hpp"
#include "model/captured_values.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::Message;

namespace {

// The type that a Cast makes; null if it has more than the save writes.
const onnx::DataTypeInfo* type_made_by(const Node& cast) {
    const auto attributes = cast.attributes();
    if (attributes.size() != 1 || attributes.front().name() != "to" ||
        cast.message().has(field<"NodeProto.doc_string">) ||
        cast.message().has(field<"NodeProto.metadata_props">)) {
        return nullptr;
    }
    const std::int64_t number = attributes.front().message().int64(field<"AttributeProto.i">);
    return onnx::find_data_type(static_cast<std::int32_t>(number));
}

// Whether a tensor has a name that a save gives it: NAME.TYPE, or NAME.TYPE.2 if that is taken.
bool has_new_name(const tensor::Header& tensor, std::string_view old_name) {
    const auto* const type = onnx::find_data_type(tensor.data_type);
    if (type == nullptr || old_name.empty()) return false;
    const std::string made = std::string(old_name) + '.' + std::string(type->numpy);
    std::string_view rest = tensor.name;
    if (!rest.starts_with(made)) return false;
    rest.remove_prefix(made.size());
    return rest.empty() || (rest[0] == '.' && is_number(rest.substr(1)));
}

}  // namespace

std::vector<InitializerCast> initializer_casts(const Document& document, const Message& graph) {
    NameMap<InitializerCast> casts;  // by their inputs
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    std::uint64_t position = 0;
    graph.for_each_value(nodes, [&](const wire::Field& each) {
        const Node node(graph, nodes, each);
        const std::uint64_t here = position++;
        if (node.op_type() != "Cast" || !onnx::plain_domain(node.domain()).empty()) return;
        const std::string_view input = node.message().text(field<"NodeProto.input">);
        const std::string_view output = node.message().text(field<"NodeProto.output">);
        const auto* const type = type_made_by(node);
        if (type != nullptr)
            casts.try_emplace(input, InitializerCast{node.message(), here, output, type});
    });
    std::vector<InitializerCast> found;
    if (casts.empty()) return found;
    NameMap<std::uint64_t> uses;
    CapturedUses users([&](std::string_view name, const Message&, std::uint32_t) {
        if (casts.contains(name)) ++uses[name];
    });
    users.find_in(graph, document.limits().depth);
    graph.for_each_child(field<"GraphProto.initializer">, [&](const Message& tensor) {
        const tensor::Header header = tensor::read_header(tensor);
        const auto cast = casts.find(header.name);
        if (cast == casts.end() || !has_new_name(header, cast->second.name)) return;
        if (uses[header.name] != 1) return;
        found.push_back(cast->second);
        found.back().tensor = tensor;
    });
    return found;
}

}  // namespace onnxmap::model
