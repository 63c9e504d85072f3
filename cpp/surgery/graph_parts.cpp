#include "surgery/graph_parts.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "model/named_list.hpp"
#include "model/node.hpp"
#include "model/value_type.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"
#include "wire/writer.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

void forget_in(const model::Document& document, const Message& body, const wire::FieldRow& list,
               const wire::FieldRow& name, std::string_view value) {
    const auto fields = document.index(body);
    const auto positions = model::NamedList(document, *fields, list, name).positions(value);
    if (!positions.empty()) model::erase(document, fields->message(), list, positions);
}

}  // namespace

void set_number(const model::Document& document, const Message& message, const wire::FieldRow& row,
                std::int64_t number) {
    model::NewValue value;
    wire::write_tag(value.encoded, row.number, wire::WireType::varint);
    wire::write_varint(value.encoded, static_cast<std::uint64_t>(number));
    model::set_value(document, message, row, value);
}

namespace {

// Gives a ValueInfoProto the type of a tensor.
void describe(const model::Document& document, const Message& info, const tensor::Header& header) {
    const Message type = model::make_present(document, info, field<"ValueInfoProto.type">);
    const wire::FieldRow& member = field<"TypeProto.tensor_type">;
    const Message tensor = model::make_present(document, type, member);
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
std::optional<Message> initializer(const model::Graph& graph, std::string_view value) {
    const wire::FieldRow& list = field<"GraphProto.initializer">;
    const auto places = graph.named_in(list).positions(value);
    if (places.size() != 1) return std::nullopt;  // or segments of one
    return graph.fields()->message().inner(list, graph.fields()->at(list, places.front()));
}

}  // namespace

bool is_described(const model::Graph& graph, std::string_view value) {
    const auto info = graph.value(value);
    const auto type = info ? type_of_value(graph.document(), *info) : std::nullopt;
    if (type) return !type->is_tensor() || (type->elem_type && type->shape);
    return !info && initializer(graph, value);
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
    const auto tensor = initializer(graph, value);
    if (tensor) describe(document, made.current(), tensor::read_header(*tensor));
}

void set_text(const model::Document& document, const Message& message, const wire::FieldRow& row,
              std::uint32_t index, std::string_view text) {
    const model::NewValue value = model::text_value(row, text);
    model::splice_values(document, message, row, index, 1, {&value, 1});
}

void rename_shards(const model::Document& document, const Message& node, std::string_view before,
                   std::string_view after) {
    const wire::FieldRow& configurations = field<"NodeProto.device_configurations">;
    const wire::FieldRow& specs = field<"NodeDeviceConfigurationProto.sharding_spec">;
    const wire::FieldRow& sharded = field<"ShardingSpecProto.tensor_name">;
    std::vector<Message> found;
    node.for_each_value(configurations, [&](const wire::Field& each) {
        const Message configuration = node.inner(configurations, each);
        configuration.for_each_value(specs, [&](const wire::Field& element) {
            Message spec = configuration.inner(specs, element);
            if (spec.text(sharded) == before) found.push_back(std::move(spec));
        });
    });
    for (const Message& spec : found)
        model::set_value(document, spec, sharded, model::text_value(sharded, after));
}

Message output_at(const model::Document& document, const Message& graph, std::uint64_t i) {
    const wire::FieldRow& outputs = field<"GraphProto.output">;
    return graph.inner(outputs, document.index(graph)->at(outputs, i));
}

void use_instead(const model::Document& document, const model::UserOfValue& user,
                 std::string_view before, std::string_view after) {
    const Message message = user.message.current();
    if (model::is_node(message)) {
        set_text(document, message, field<"NodeProto.input">, user.index, after);
        rename_shards(document, message.current(), before, after);
    } else if (is_function(message)) {
        set_text(document, message, field<"FunctionProto.output">, user.index, after);
    } else {
        const wire::FieldRow& name = field<"ValueInfoProto.name">;
        model::set_value(document, output_at(document, message, user.index), name,
                         model::text_value(name, after));
    }
}

bool has_output(const model::NodeValues& body, std::string_view value) {
    const Message& message = body.fields()->message();
    bool found = false;
    if (is_function(message)) {
        body.fields()->for_each(field<"FunctionProto.output">, [&](const wire::Field& each) {
            found = found || each.text() == value;
        });
        return found;
    }
    return model::NamedList(body.document(), *body.fields(), field<"GraphProto.output">,
                            field<"ValueInfoProto.name">)
               .count(value) != 0;
}

void forget_value_info(const model::Document& document, const Message& body,
                       std::string_view value) {
    const Message now = body.current();
    forget_in(document, now,
              is_function(now) ? field<"FunctionProto.value_info"> : field<"GraphProto.value_info">,
              field<"ValueInfoProto.name">, value);
}

void forget_value(const model::Document& document, const Message& body, std::string_view value) {
    forget_value_info(document, body, value);
    if (is_function(body)) return;
    forget_in(document, body.current(), field<"GraphProto.quantization_annotation">,
              field<"TensorAnnotation.tensor_name">, value);
}

}  // namespace onnxmap::surgery
