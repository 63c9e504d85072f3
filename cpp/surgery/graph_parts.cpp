#include "surgery/graph_parts.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/named_list.hpp"
#include "model/node.hpp"
#include "model/value_type.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"
#include "wire/writer.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

// Gives a ValueInfoProto the type of a tensor.
void describe(const model::Document& document, const Message& info, const tensor::Header& header) {
    const Message type = model::make_present(document, info, field<"ValueInfoProto.type">);
    const Message tensor = model::make_present(document, type, field<"TypeProto.tensor_type">);
    set_number(document, tensor, field<"TypeProto.Tensor.elem_type">, header.data_type);
    const Message shape =
        model::make_present(document, tensor.current(), field<"TypeProto.Tensor.shape">);
    for (const std::int64_t dim : header.dims()) {
        const Message made = model::insert(document, shape.current(), field<"TensorShapeProto.dim">,
                                           UINT64_MAX, std::nullopt);
        set_number(document, made, field<"TensorShapeProto.Dimension.dim_value">, dim);
    }
}

// The dense initializer that is a value.
std::optional<Message> initializer(const model::NodeValues& graph, std::string_view value) {
    const wire::FieldRow& list = field<"GraphProto.initializer">;
    const auto places =
        model::NamedList(graph.document(), *graph.fields(), list, field<"TensorProto.name">)
            .positions(value);
    if (places.size() != 1) return std::nullopt;  // or segments of one
    return graph.fields()->message().inner(list, graph.fields()->at(list, places.front()));
}

}  // namespace

bool names_value(const wire::FieldRow& holder, const wire::FieldRow& row) noexcept {
    return &row == &field<"NodeProto.input"> || &row == &field<"NodeProto.output"> ||
           &row == &field<"ValueInfoProto.name"> ||
           &row == &field<"TensorAnnotation.tensor_name"> ||
           &row == &field<"ShardingSpecProto.tensor_name"> ||
           (&row == &field<"TensorProto.name"> &&
            (&holder == &field<"GraphProto.initializer"> ||
             &holder == &field<"SparseTensorProto.values">)) ||
           (&row == &field<"StringStringEntryProto.value"> &&
            &holder == &field<"TensorAnnotation.quant_parameter_tensor_names">);
}

void take_text(std::uint64_t& left, std::string_view path) {
    if (path.size() > left) {
        throw Error("limit.text_bytes",
                    "the paths of the nodes are too long together; raise the limit with "
                    "limits=Limits(text_bytes=...)");
    }
    left -= path.size();
}

Versions imported_versions(const Message& importer, const wire::FieldRow& list) {
    Versions found;
    importer.for_each_child(list, [&](const Message& import) {
        std::int64_t& version =
            found[onnx::plain_domain(import.text(field<"OperatorSetIdProto.domain">))];
        version = std::max(version, import.int64(field<"OperatorSetIdProto.version">));
    });
    return found;
}

void set_number(const model::Document& document, const Message& message, const wire::FieldRow& row,
                std::int64_t number) {
    model::NewValue value;
    wire::write_tag(value.encoded, row.number, wire::WireType::varint);
    wire::write_varint(value.encoded, static_cast<std::uint64_t>(number));
    model::set_value(document, message, row, value);
}

bool is_described(const model::NodeValues& graph, std::string_view value) {
    const auto info = graph.value(value);
    const auto type = info ? type_of_value(graph.document(), *info) : std::nullopt;
    if (type) return !type->is_tensor() || (type->elem_type && type->shape);
    return !info && initializer(graph, value);
}

std::optional<model::Attribute> value_of_constant(const model::Node& node) {
    if (node.op_type() != "Constant" || !onnx::plain_domain(node.domain()).empty())
        return std::nullopt;
    const auto attributes = node.attributes();
    return attributes.size() == 1 ? std::optional(attributes[0]) : std::nullopt;
}

KnownType known_type(const model::NodeValues& graph, std::string_view value) {
    const auto info = graph.value(value);
    return {info ? info->child(field<"ValueInfoProto.type">) : std::nullopt,
            initializer(graph, value)};
}

void set_type(const model::Document& document, const Message& info, const KnownType& known) {
    const wire::FieldRow& row = field<"ValueInfoProto.type">;
    if (known.type) {
        model::set_message(document, info, row, {document, *known.type});
        return;
    }
    model::clear(document, info, row);
    if (known.tensor) describe(document, info.current(), tensor::read_header(*known.tensor));
}

void add_value(const model::Document& document, const Message& to, const wire::FieldRow& list,
               const model::Graph& graph, std::string_view value) {
    const auto info = graph.value(value);
    const auto original =
        info ? std::optional(model::Original{graph.document(), *info}) : std::nullopt;
    const Message made = model::insert(document, to.current(), list, UINT64_MAX, original);
    if (info) return;
    const wire::FieldRow& name = field<"ValueInfoProto.name">;
    model::set_value(document, made, name, model::text_value(name, value));
    set_type(document, made.current(), {std::nullopt, initializer(graph, value)});
}

void rename_shards(const model::Document& document, const Message& node, const NewNames& names) {
    std::vector<std::pair<Message, std::string_view>> found;
    model::for_each_shard(node, [&](const Message& spec, const wire::FieldRow& sharded) {
        const auto pair = names.find(spec.text(sharded));
        if (pair != names.end()) found.emplace_back(spec, pair->second);
    });
    const wire::FieldRow& sharded = field<"ShardingSpecProto.tensor_name">;
    for (const auto& [spec, after] : found)
        model::set_value(document, spec, sharded, model::text_value(sharded, after));
}

Message output_at(const model::Document& document, const Message& graph, std::uint64_t i) {
    const wire::FieldRow& outputs = field<"GraphProto.output">;
    return graph.inner(outputs, document.index(graph)->at(outputs, i));
}

void use_instead(const model::Document& document, std::span<const NewUse> uses) {
    while (!uses.empty()) {
        const Message message = uses.front().user.message.current();
        const auto end = std::ranges::find_if(
            uses, [&](const NewUse& use) { return use.user.message.key() != message.key(); });
        const auto of_message = uses.first(static_cast<std::size_t>(end - uses.begin()));
        uses = uses.subspan(of_message.size());
        std::vector<model::NewText> texts;
        NewNames names;
        for (const auto& [user, before, after] : of_message) {
            texts.push_back({user.index, after});
            names.emplace(before, after);
        }
        if (model::is_node(message)) {
            model::set_texts(document, message, field<"NodeProto.input">, texts);
            rename_shards(document, message.current(), names);
        } else if (is_function(message)) {
            model::set_texts(document, message, field<"FunctionProto.output">, texts);
        } else {
            const wire::FieldRow& name = field<"ValueInfoProto.name">;
            for (const auto& [index, text] : texts) {
                model::set_value(document, output_at(document, message.current(), index), name,
                                 model::text_value(name, text));
            }
        }
    }
}

}  // namespace onnxmap::surgery
