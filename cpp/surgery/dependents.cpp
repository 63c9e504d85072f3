#include "surgery/dependents.hpp"

#include <algorithm>
#include <set>

#include "model/captured_values.hpp"
#include "model/function_names.hpp"
#include "model/message_walk.hpp"
#include "model/training_uses.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using model::FlowTable;
using onnx::field;
using onnx::Message;

namespace {

// Whether the outputs are lists of sizes, or such as may have lost a dimension.
bool drops_batch(const FlowTable::Node& node) {
    constexpr std::string_view kOfShapes[] = {"ConstantOfShape", "EyeLike", "NonZero",
                                              "Range",           "Shape",   "Size"};
    if (std::ranges::find(kOfShapes, node.op_type) != std::end(kOfShapes)) return true;
    if (!node.op_type.starts_with("Reduce") && !node.op_type.starts_with("Arg")) return false;
    return std::ranges::any_of(model::Node(node.message).attributes(),
                               [](const model::Attribute& attribute) {
                                   return attribute.name() == "keepdims" &&
                                          attribute.message().int64(field<"AttributeProto.i">) == 0;
                               });
}

}  // namespace

Dependents::Dependents(const model::Document& document, const Message& main,
                       const InputNames& inputs, const ChangedSizes& sizes)
    : document_(document),
      inputs_(inputs),
      changes_ones_(sizes.changed.contains(1)),
      places_(document, sizes) {
    for (PlacedBody& body : all_functions(document))
        functions_.emplace(model::function_identity(body.message), std::move(body));
    const auto fields = document.index(main);
    read_nodes(*fields);
    is_dependent_.resize(flow_.name_count());
    for (const std::string& name : inputs) {
        if (const auto known = flow_.find(name)) is_dependent_[*known] = 1;
    }
    if (changes_ones_) find_batches();
    const FlowTable::Marks is_reached =
        flow_.spread(is_dependent_, FlowTable::Marks(flow_.element_count()));
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    places_.enter(main, "graph", true, [&](std::string_view name) {
        const auto value = flow_.find(name);
        const std::uint32_t position = value ? flow_.maker(*value) : FlowTable::kNone;
        return position == FlowTable::kNone
                   ? std::nullopt
                   : std::optional(std::pair<Message, std::uint64_t>(
                         main.inner(nodes, fields->at(nodes, position)), position));
    });
    const bool has_functions = !functions_.empty();
    std::set<std::string> others;  // functions that are called with what stays
    for (const Entered& node : entered_) {
        if (is_reached[node.position] != 0) {
            enter(node, "graph", document.limits().depth);
        } else if (has_functions) {
            others.insert(model::function_identity(node.message));
        }
    }
    enter_trainings(main);
    places_.leave();
    for (std::size_t next = 0; next != called_.size();) {
        const PlacedBody function = called_[next++];  // a copy: the list grows
        bodies_.push_back(function.message);
        places_.enter(function.message, function.path, true);
        if (others.contains(model::function_identity(function.message))) places_.only_list();
        enter_nodes(function.message, function.path, document.limits().depth);
        enter_graphs(
            function.message, field<"FunctionProto.attribute_proto">,
            [&] { return function.path + ".attribute_proto"; }, document.limits().depth);
        places_.leave();
    }
}

// A batch of 1 is only one if it comes from an input: many shapes begin with a 1 of their own.
void Dependents::find_batches() {
    FlowTable::Marks has_batch = is_dependent_;
    FlowTable::Marks drops_batch(flow_.element_count());
    for (const std::uint32_t node : drops_batch_) drops_batch[node] = 1;
    static_cast<void>(flow_.spread(has_batch, std::move(drops_batch)));
    for (Entered& node : entered_) {
        std::optional<std::string_view> first;
        model::Node(node.message).for_each_input([&](std::string_view name) {
            first = first.value_or(name);
        });
        const auto value = flow_.find(first.value_or(""));
        node.has_batch = value && has_batch[*value] != 0;
    }
}

// The graphs of training that use what depends on the inputs.
void Dependents::enter_trainings(const Message& main) {
    const std::uint32_t depth = document_.limits().depth;
    std::size_t position = 0;
    for (const Message& training : model::training_info_of(document_, main)) {
        const std::string path = "training_info[" + std::to_string(position++) + "].algorithm";
        bool is_dependent = false;
        model::CapturedUses uses(
            [&](std::string_view name, auto&&...) { is_dependent = is_dependent || has(name); });
        model::find_in_training(training, depth, uses, [](auto&&...) {});
        const auto algorithm = training.child(field<"TrainingInfoProto.algorithm">);
        if (!is_dependent || !algorithm) continue;
        bodies_.push_back(*algorithm);
        places_.enter(*algorithm, path, false);
        enter_nodes(*algorithm, path, depth);
        places_.leave();
    }
}

void Dependents::read_nodes(const model::FieldIndex& main) {
    flow_.read(main, [&](const FlowTable::Node& node, const FlowTable::Use& use) {
        const TakesSizes* const takes = sizes_taken_by(node.op_type, node.domain);
        if (changes_ones_ && drops_batch(node)) drops_batch_.push_back(node.position);
        if (!functions_.empty() || node.holds_graphs || takes != nullptr)
            entered_.push_back({node.message, node.position, takes, node.holds_graphs});
        if (node.holds_graphs) node.find_captured(use, document_.limits().depth);
    });
}

bool Dependents::has(std::string_view value) const {
    const auto known = flow_.find(value);
    return (known && is_dependent_[*known] != 0) || inputs_.contains(value);
}

void Dependents::enter_nodes(const Message& body, const std::string& path,
                             std::uint32_t depth_left) {
    const wire::FieldRow& nodes = model::nodes_of(body);
    std::uint64_t position = 0;
    body.for_each_child(nodes, [&](const Message& each) {
        const model::Node node(each);
        enter({node.message(), position++, sizes_taken_by(node.op_type(), node.domain()), true},
              path, depth_left);
    });
}

// A node that depends on the inputs: its constants, its subgraphs, the functions it calls.
void Dependents::enter(const Entered& node, const std::string& body, std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(node.message);
    const auto path = [&] { return body + ".node[" + std::to_string(node.position) + "]"; };
    if (node.takes != nullptr)
        places_.find(node.message, node.position, *node.takes, node.has_batch);
    if (!functions_.empty()) {
        const auto called = functions_.equal_range(model::function_identity(node.message));
        for (auto each = called.first; each != called.second; ++each)
            called_.push_back(each->second);
        functions_.erase(called.first, called.second);
    }
    if (node.may_hold_graphs) {
        enter_graphs(
            node.message, field<"NodeProto.attribute">, [&] { return path() + ".attribute"; },
            depth_left);
    }
}

// The graphs in attributes of a node, or in defaults of a function.
template <class Path>
void Dependents::enter_graphs(const Message& holder, const wire::FieldRow& list, Path&& path,
                              std::uint32_t depth_left) {
    std::uint64_t ordinal = 0;
    for (const model::Attribute& attribute : model::attributes(holder, list)) {
        const std::uint64_t place = ordinal++;
        if (!attribute.may_hold_graph()) continue;
        std::string key = path();
        key += model::path_key(key, attribute.name(), place);
        for_each_graph_of(attribute, [&](const Message& graph, const std::string& inner) {
            bodies_.push_back(graph);
            places_.enter(graph, key + inner, false);
            enter_nodes(graph, key + inner, depth_left - 1);
            places_.leave();
        });
    }
}

}  // namespace onnxmap::surgery
