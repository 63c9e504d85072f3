#include "model/graph.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/name_table.hpp"
#include "model/sparse_tensor.hpp"
#include "model/training_uses.hpp"
#include "model/value_type.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr const wire::FieldRow& kInput = field<"GraphProto.input">;
// The lists that say what types values have.
constexpr std::array kValueLists{&kInput, &field<"GraphProto.output">,
                                 &field<"GraphProto.value_info">};

}  // namespace

std::vector<std::pair<std::string_view, std::uint64_t>> Graph::op_counts() const {
    NameTable names;
    std::vector<std::pair<std::string_view, std::uint64_t>> counts;  // by first occurrence
    for_each_node([&](const Node& node) {
        const std::string_view op_type = node.op_type();
        const auto [position, is_new] = names.add(op_type);
        if (is_new) counts.emplace_back(op_type, 0);
        ++counts[position].second;
    });
    std::ranges::stable_sort(counts,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    return counts;
}

std::optional<onnx::Message> Graph::first_user(std::string_view value) const {
    auto known = users(value);
    if (!known.empty()) return std::move(known.front().message);
    std::optional<onnx::Message> found;
    CapturedUses uses([&](std::string_view name, const onnx::Message& user, std::uint32_t) {
        if (!found && name == value) found = user;
    });
    for (const onnx::Message& training : training_info_of(document(), fields()->message())) {
        find_in_training(training, document().limits().depth, uses,
                         [&](const onnx::Message& entry, const wire::FieldRow& row) {
                             if (!found && entry.text(row) == value) found = training;
                         });
    }
    return found;
}

std::vector<onnx::Message> Graph::inputs(bool with_default) const {
    std::vector<onnx::Message> found;
    fields()->for_each_child(kInput, [&](onnx::Message input) {
        const std::string_view name = input.text(field<"ValueInfoProto.name">);
        const bool has_default =
            initializers_.names().contains(name) || sparse_initializer_names().contains(name);
        if (has_default == with_default) found.push_back(std::move(input));
    });
    return found;
}

std::vector<Graph::DimensionParam> Graph::dimension_params() const {
    NameTable known;
    std::vector<DimensionParam> found;
    const auto add = [&](std::string_view value, const ValueType& type) {
        for (const ValueType* inner = &type; inner != nullptr; inner = inner->inner.get()) {
            for (std::uint64_t axis = 0; inner->shape && axis < inner->shape->size(); ++axis) {
                const std::string_view name = (*inner->shape)[axis].param;
                if (name.empty()) continue;
                const auto [position, is_new] = known.add(name);
                if (is_new) found.push_back({name, {}});
                found[position].uses.push_back({value, axis});
            }
        }
    };
    for (const wire::FieldRow* list : kValueLists) {
        fields()->for_each_child(*list, [&](const onnx::Message& value) {
            const auto type = type_of_value(document(), value);
            if (type) add(value.text(field<"ValueInfoProto.name">), *type);
        });
    }
    return found;
}

onnx::Message Graph::sparse_initializer(std::uint64_t position) const {
    return fields()->message().inner(kSparse, fields()->at(kSparse, position));
}

const ListNames& Graph::sparse_initializer_names() const {
    return sparse_names_->get([&] {
        auto names = std::make_unique<ListNames>(
            "tensor", "iterate over sparse_initializers.all() to reach each of them",
            NameTable::Text::copied);
        fields()->for_each_child(kSparse, [&](const onnx::Message& element) {
            names->add(SparseTensor(document(), element).name());
        });
        return names;
    });
}

onnx::Message main_graph_message(const Document& document) {
    auto graph = document.child(document.root(), onnx::field<"ModelProto.graph">);
    if (graph) return std::move(*graph);
    Error error("model.no_graph", "the model has no graph");
    error.offset = 0;
    throw error;
}

std::vector<onnx::Message> training_info_of(const Document& document, const onnx::Message& graph) {
    std::vector<onnx::Message> found;
    if (!document.is_model()) return found;
    const onnx::Message root = document.root();
    const auto main = document.child(root, onnx::field<"ModelProto.graph">);
    if (!main || !main->is(graph)) return found;
    document.index(root)->for_each_child(onnx::field<"ModelProto.training_info">,
                                         [&](const onnx::Message& each) { found.push_back(each); });
    return found;
}

}  // namespace onnxmap::model
