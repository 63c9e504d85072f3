#include "surgery/dedupe.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "compare/content_matching.hpp"
#include "model/captured_values.hpp"
#include "model/default_graphs.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/name_table.hpp"
#include "model/training_uses.hpp"
#include "surgery/bodies.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kTensors = field<"GraphProto.initializer">;

// The initializers of a graph that may be one with another.
// `annotated`: whether any graph has annotations.
std::vector<Message> candidates(const model::Document& document, const Message& graph,
                                bool annotated) {
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
    for (const auto* const list :
         {&field<"GraphProto.input">, &field<"GraphProto.output">, &kTensors}) {
        const wire::FieldRow& name = *model::naming_field(*list);
        fields->for_each_child(*list, [&](const Message& each) { count(each.text(name)); });
    }
    if (annotated) {  // here, or in subgraphs
        model::CapturedUses uses(
            {}, {}, [&](std::string_view name, const Message&, const wire::FieldRow& row) {
                if (&row == &field<"TensorAnnotation.tensor_name">) count(name);
            });
        uses.find_in(graph, document.limits().depth + 1);
    }
    model::CapturedUses none(nullptr);
    for (const Message& training : model::training_info_of(document, graph)) {
        model::find_in_training(
            training, document.limits().depth, none,
            [&](const Message& entry, const wire::FieldRow& row) { count(entry.text(row)); });
    }
    std::vector<Message> found;
    fields->for_each_child(kTensors, [&](Message tensor) {
        if (counts[*names.find(tensor.text(field<"TensorProto.name">))] == 1)
            found.push_back(std::move(tensor));
    });
    return found;
}

// Lets all that uses these values use others instead, and returns the old names of those that no
// subgraph would hide: only they are replaced. One walk over the graph is for all of them.
model::NameSet replace_uses(const model::Document& document, const Message& graph,
                            const NewNames& names) {
    struct Mention {
        model::UserOfValue user;
        const wire::FieldRow* row;  // of a text; null: an input or output
        NewNames::const_iterator pair;
    };
    std::vector<Mention> mentions;
    model::NameSet made;  // by subgraphs
    const auto add = [&](std::string_view name, const Message& user, std::uint32_t index,
                         const wire::FieldRow* row) {
        const auto pair = names.find(name);
        if (pair != names.end()) mentions.push_back({{user, index}, row, pair});
    };
    model::CapturedUses uses([&](std::string_view name, const Message& user,
                                 std::uint32_t index) { add(name, user, index, nullptr); },
                             [&](std::string_view name) { made.insert(name); },
                             [&](std::string_view name, const Message& holder,
                                 const wire::FieldRow& row) { add(name, holder, 0, &row); });
    const std::uint32_t depth = document.limits().depth + 1;
    uses.find_in(graph, depth);
    for (const Message& training : model::training_info_of(document, graph))
        model::find_in_training(training, depth, uses, [](auto&&...) {});
    model::NameSet replaced;
    for (const auto& [old, kept] : names) {
        if (!made.contains(kept)) replaced.insert(old);
    }
    std::vector<NewUse> new_uses;
    for (const auto& [user, row, pair] : mentions) {
        const auto& [old, kept] = *pair;
        if (!replaced.contains(old)) continue;
        if (row == nullptr) {
            new_uses.push_back({user, old, kept});
        } else {
            model::set_value(document, user.message.current(), *row, model::text_value(*row, kept));
        }
    }
    use_instead(document, new_uses);
    return replaced;
}

// The functions in whose subgraphs the uses of values cannot be followed.
model::TextSet paths_of_unfollowed(const model::Document& document) {
    model::TextSet paths;
    for (const PlacedBody& function : all_functions(document)) {
        if (model::default_graph(function.message)) paths.insert(function.path);
    }
    return paths;
}

}  // namespace

std::vector<Duplicates> find_duplicates(const model::Document& document) {
    std::vector<Duplicates> found;
    const wire::FieldRow& name = field<"TensorProto.name">;
    const std::vector<PlacedBody> graphs = all_graphs(document);
    const bool annotated = std::ranges::any_of(graphs, [](const PlacedBody& graph) {
        return graph.message.has(field<"GraphProto.quantization_annotation">);
    });
    const model::TextSet unfollowed = paths_of_unfollowed(document);
    for (const PlacedBody& graph : graphs) {
        if (unfollowed.contains(graph.path.substr(0, graph.path.find('.')))) continue;
        const std::vector<Message> tensors = candidates(document, graph.message, annotated);
        const auto first = compare::first_equal(document, tensors);
        Duplicates here{graph.message, {}};
        for (std::uint32_t i = 0; i < first.size(); ++i) {
            if (first[i] == i) continue;
            here.tensors.emplace_back(tensors[i].text(name), tensors[first[i]].text(name));
        }
        if (!here.tensors.empty()) found.push_back(std::move(here));
    }
    return found;
}

namespace {

std::vector<Merged> merge_below_guard(const model::Document& document,
                                      const std::vector<Duplicates>& duplicates) {
    std::vector<Merged> merged;
    for (const auto& [graph, tensors] : duplicates) {
        const NewNames names(tensors.begin(), tensors.end());
        const auto replaced = replace_uses(document, graph.current(), names);
        std::ranges::copy_if(tensors, std::back_inserter(merged),
                             [&](const Merged& each) { return replaced.contains(each.first); });
        // Their names do not repeat.
        for (const wire::FieldRow* const list : {&kTensors, &field<"GraphProto.value_info">}) {
            erase_if(document, graph, *list, [&](const Message& each) {
                return replaced.contains(each.text(*model::naming_field(*list)));
            });
        }
    }
    return merged;
}

}  // namespace

std::vector<Merged> merge_duplicates(const model::Document& document,
                                     const std::vector<Duplicates>& duplicates) {
    return run_verb(document, [&] { return merge_below_guard(document, duplicates); });
}

}  // namespace onnxmap::surgery
