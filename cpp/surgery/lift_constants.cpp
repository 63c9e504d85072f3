#include "surgery/lift_constants.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "model/edit_message.hpp"
#include "model/edit_tensor.hpp"
#include "model/graph.hpp"
#include "surgery/bodies.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/verb.hpp"
#include "tensor/header.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

// A Constant node whose value is to be an initializer.
struct Constant {
    std::uint64_t node;
    std::string name;
    model::Attribute value;
};

// The fields with the values that can be tensors.
constexpr const wire::FieldRow* kTensor = &field<"AttributeProto.t">;
constexpr std::array kNumbers = {&field<"AttributeProto.f">, &field<"AttributeProto.floats">,
                                 &field<"AttributeProto.i">, &field<"AttributeProto.ints">};

std::size_t width_of(const wire::FieldRow& numbers) {
    return numbers.wire_type() == wire::WireType::fixed32 ? sizeof(float) : sizeof(std::int64_t);
}

// Numbers as raw_data has them.
std::string raw_data_of(const model::Attribute& numbers) {
    std::string bytes;
    const wire::FieldRow& row = *numbers.value_field();
    const auto add = [&](const wire::Field& number) {
        bytes.append(reinterpret_cast<const char*>(&number.value), width_of(row));
    };
    if (row.repeated()) {
        numbers.message().for_each_value(row, add);
    } else {
        add(numbers.message().find(row).value_or(wire::Field{}));  // absent: the default
    }
    return bytes;
}

// The bytes of the value as a tensor. Nothing if it is no tensor, or has a fault.
std::optional<std::uint64_t> nbytes_of(const model::Attribute& value) {
    const wire::FieldRow* const row = value.value_field();
    if (std::ranges::find(kNumbers, row) != kNumbers.end()) return raw_data_of(value).size();
    const auto tensor = row == kTensor ? value.message().child(*row) : std::nullopt;
    if (!tensor || tensor::is_segment(*tensor)) return std::nullopt;
    return if_possible([&] {
        const tensor::Header header = tensor::read_header(*tensor);
        const auto& type = tensor::element_type(header);
        return tensor::packed_nbytes(tensor::element_count(header), type.bits);
    });
}

// The tensor of the attribute. Numbers become one.
Message tensor_of(const model::Document& document, const model::Attribute& value) {
    const wire::FieldRow& row = *value.value_field();
    if (&row == kTensor) return *value.message().child(row);
    const std::string bytes = raw_data_of(value);
    const Message made = model::make_present(document, value.message(), *kTensor);
    const bool is_float = width_of(row) == sizeof(float);
    set_number(document, made, field<"TensorProto.data_type">,
               static_cast<std::int64_t>(is_float ? onnx::DataType::FLOAT : onnx::DataType::INT64));
    const wire::FieldRow& raw_data = field<"TensorProto.raw_data">;
    model::set_value(document, made.current(), raw_data, model::text_value(raw_data, bytes));
    if (row.repeated()) {
        const auto count = static_cast<std::int64_t>(bytes.size() / width_of(row));
        set_number(document, made.current(), field<"TensorProto.dims">, count);
    }
    return made.current();
}

std::optional<Constant> lifted_constant(const Message& message, std::uint64_t min_bytes) {
    const model::Node node(message);
    const auto value = value_of_constant(node);
    if (!value || !value->name().starts_with("value")) return std::nullopt;
    std::vector<std::string_view> outputs;
    node.for_each_output([&](std::string_view output) { outputs.push_back(output); });
    if (outputs.size() != 1 || outputs[0].empty()) return std::nullopt;
    const auto nbytes = nbytes_of(*value);
    if (!nbytes || *nbytes < min_bytes) return std::nullopt;
    return Constant{0, std::string(outputs[0]), *value};
}

std::vector<Constant> constants(const model::Document& document, const Message& graph,
                                std::uint64_t min_bytes) {
    std::vector<Constant> found;
    model::NameTable outputs;
    const wire::FieldRow& list = field<"GraphProto.output">;
    const auto fields = document.index(graph);
    fields->for_each_child(
        list, [&](const Message& each) { outputs.add(each.text(field<"ValueInfoProto.name">)); });
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    std::uint64_t position = 0;
    std::shared_ptr<model::FollowedUses> uses;
    // Each name once: a hostile file has very many constants of one name.
    model::NameTable asked(model::NameTable::Text::copied);
    std::vector<bool> is_made_inside;
    fields->for_each_child(nodes, [&](const Message& each) {
        auto lifted = lifted_constant(each, min_bytes);
        const std::uint64_t node = position++;
        if (!lifted || outputs.find(lifted->name)) return;
        // All subgraphs see an initializer, also those of nodes before the Constant.
        if (!uses) uses = document.followed_uses(graph);
        const auto [place, is_new] = asked.add(lifted->name);
        if (is_new) {
            is_made_inside.push_back(uses->is_made_inside(lifted->name));
        }
        if (is_made_inside[place]) return;
        lifted->node = node;
        found.push_back(*std::move(lifted));
    });
    return found;
}

std::vector<std::string> lift_below_guard(const model::Document& document,
                                          std::uint64_t min_bytes) {
    std::vector<std::pair<Message, std::vector<Constant>>> lifted;
    for (const PlacedBody& graph : all_graphs(document)) {
        auto found = constants(document, graph.message, min_bytes);
        if (!found.empty()) lifted.emplace_back(graph.message, std::move(found));
    }
    std::vector<std::string> names;
    if (lifted.empty()) return names;
    if (document.root().int64(field<"ModelProto.ir_version">) < kFirstWithFreeInitializers) {
        throw std::invalid_argument(
            "in a model of IR version 3 or earlier, initializers are inputs: set ir_version to 4 "
            "or more before");
    }
    for (const auto& [graph, found] : lifted) {
        std::vector<model::Insertion> added;
        std::vector<std::uint64_t> nodes;
        for (const Constant& each : found) {
            added.push_back({UINT64_MAX, {document, tensor_of(document, each.value)}});
            nodes.push_back(each.node);
        }
        const auto made = model::splice_messages(document, graph.current(),
                                                 field<"GraphProto.initializer">, added, {});
        const wire::FieldRow& name = field<"TensorProto.name">;
        for (std::size_t i = 0; i < made.size(); ++i) {
            model::set_value(document, made[i].current(), name,
                             model::text_value(name, found[i].name));
            names.push_back(found[i].name);
        }
        model::erase(document, graph.current(), field<"GraphProto.node">, nodes);
    }
    return names;
}

}  // namespace

std::vector<std::string> lift_constants(const model::Document& document, std::uint64_t min_bytes) {
    return run_verb(document, [&] { return lift_below_guard(document, min_bytes); });
}

}  // namespace onnxmap::surgery
