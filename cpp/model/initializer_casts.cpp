#include "model/initializer_casts.hpp"

#include <string>

#include "model/name_table.hpp"
#include "model/node.hpp"
#include "model/value_uses.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::Message;

namespace {

const onnx::DataTypeInfo* type_made_by(const Node& cast) {
    for (const Attribute& each : cast.attributes().entries) {
        if (each.name() != "to") continue;
        const std::int64_t number = each.message().int64(field<"AttributeProto.i">);
        return onnx::find_data_type(static_cast<std::int32_t>(number));
    }
    return nullptr;
}

// Whether a tensor has the name that a save gave it.
bool has_new_name(const tensor::Header& tensor, std::string_view old_name) {
    const auto* const type = onnx::find_data_type(tensor.data_type);
    return type != nullptr &&
           tensor.name.starts_with(std::string(old_name) + '.' + std::string(type->numpy));
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
    const ValueUses uses(*document.index(graph), document.limits().depth);
    const wire::FieldRow& initializers = field<"GraphProto.initializer">;
    graph.for_each_value(initializers, [&](const wire::Field& each) {
        const Message tensor = graph.inner(initializers, each);
        const tensor::Header header = tensor::read_header(tensor);
        const auto cast = casts.find(header.name);
        if (cast == casts.end() || !has_new_name(header, cast->second.name)) return;
        if (uses.uses(header.name).size() != 1) return;
        found.push_back(cast->second);
        found.back().tensor = tensor;
    });
    return found;
}

}  // namespace onnxmap::model
