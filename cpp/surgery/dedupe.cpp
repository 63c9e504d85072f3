#include <stdexcept>

#include "compare/content_matching.hpp"
#include "model/captured_values.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/training_uses.hpp"
#include "surgery/bodies.hpp"
#include "surgery/clean.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/value_edits.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kTensors = field<"GraphProto.initializer">;

struct Tensors {
    std::vector<Message> messages;
    std::vector<std::uint64_t> positions;
};

// The initializers of a graph that may be one with another.
Tensors candidates(const model::Document& document, const Message& graph) {
    const auto fields = document.index(graph);
    model::NameTable names;
    std::vector<std::uint32_t> counts;
    const auto count = [&](std::string_view name) {
        const auto added = names.add(name);
        if (added.is_new) counts.push_back(0);
        ++counts[added.position];
    };
    count("");
    count("");
    // What has a meaning besides its values counts as repeated.
    for (const auto* const list : {&field<"GraphProto.input">, &field<"GraphProto.output">,
                                   &field<"GraphProto.quantization_annotation">, &kTensors}) {
        const wire::FieldRow& name = list == &kTensors ? field<"TensorProto.name">
                                     : list == &field<"GraphProto.quantization_annotation">
                                         ? field<"TensorAnnotation.tensor_name">
                                         : field<"ValueInfoProto.name">;
        fields->for_each(*list, [&](const wire::Field& each) {
            count(graph.inner(*list, each).text(name));
        });
    }
    model::CapturedUses none([](auto...) {});
    for (const Message& training : model::training_info_of(document, graph)) {
        model::find_in_training(
            training, document.limits().depth, none,
            [&](const Message& entry, const wire::FieldRow& row) {
                count(entry.text(row));
            });
    }
    Tensors found;
    std::uint64_t position = 0;
    fields->for_each(kTensors, [&](const wire::Field& each) {
        Message tensor = graph.inner(kTensors, each);
        const std::uint64_t here = position++;
        if (counts[*names.find(tensor.text(field<"TensorProto.name">))] != 1) return;
        found.messages.push_back(std::move(tensor));
        found.positions.push_back(here);
    });
    return found;
}

}  // namespace

std::vector<Duplicates> find_duplicates(const model::Document& document) {
    std::vector<Duplicates> found;
    const wire::FieldRow& name = field<"TensorProto.name">;
    for (const PlacedBody& graph : all_graphs(document)) {
        const Tensors tensors = candidates(document, graph.message);
        const auto first = compare::first_equal(document, tensors.messages);
        Duplicates here{graph.message, {}};
        for (std::uint32_t i = 0; i < first.size(); ++i) {
            if (first[i] == i) continue;
            here.tensors.push_back({tensors.positions[i],
                                    std::string(tensors.messages[i].text(name)),
                                    std::string(tensors.messages[first[i]].text(name))});
        }
        if (!here.tensors.empty()) found.push_back(std::move(here));
    }
    return found;
}

std::vector<std::pair<std::string, std::string>> merge_duplicates(
    const std::shared_ptr<const model::Document>& document,
    const std::vector<Duplicates>& duplicates) {
    model::check_editable(*document, document->root());
    std::vector<std::pair<std::string, std::string>> replaced;
    for (const auto& [graph, tensors] : duplicates) {
        std::vector<std::uint64_t> gone;
        const std::size_t before = replaced.size();
        for (const Duplicates::Tensor& each : tensors) {
            try {
                const model::NodeValues body(document, graph.current());
                replace_uses(body, each.name, each.first, false);
            } catch (const std::invalid_argument&) {
                continue;  // a subgraph would hide it
            }
            gone.push_back(each.position);
            replaced.emplace_back(each.name, each.first);
        }
        if (gone.empty()) continue;
        model::erase(*document, graph.current(), kTensors, gone);
        for (std::size_t i = before; i < replaced.size(); ++i)
            forget_value_info(*document, graph, replaced[i].first);
    }
    return replaced;
}

}  // namespace onnxmap::surgery
