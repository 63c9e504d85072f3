#include "surgery/dependents.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/function_names.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "model/training_uses.hpp"
#include "onnx/operators.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"
#include "tensor/header.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr std::uint64_t kMostSizes = 1024;  // bytes of a tensor: more numbers are no shape

}  // namespace

// The operators that take sizes as inputs, and which inputs these are.
struct Dependents::TakesSizes {
    std::string_view op_type;
    std::uint64_t first;
    std::uint64_t last;
};

const Dependents::TakesSizes* Dependents::sizes_taken_by(std::string_view op_type,
                                                         std::string_view domain) {
    static constexpr TakesSizes kAll[] = {
        {"Reshape", 1, 1}, {"Expand", 1, 1}, {"Tile", 1, 1}, {"Slice", 1, 2},
        {"Resize", 3, 3},  {"Split", 1, 1},  {"Pad", 1, 1},  {"ConstantOfShape", 0, 0},
    };
    const auto* const found = std::ranges::find(kAll, op_type, &TakesSizes::op_type);
    return found == std::end(kAll) || !onnx::plain_domain(domain).empty() ? nullptr : found;
}

Dependents::Dependents(const model::Document& document, const Message& main,
                       const InputNames& inputs, const std::set<std::int64_t>& sizes)
    : document_(document), inputs_(inputs), sizes_(sizes) {
    for (PlacedBody& body : all_functions(document))
        functions_.emplace(model::function_identity(body.message), std::move(body));
    const auto fields = document.index(main);
    read_nodes(*fields);
    is_dependent_.resize(flow_.value_count());
    for (const std::string& name : inputs) {
        if (const auto known = flow_.find(name)) is_dependent_[*known] = 1;
    }
    const Dataflow::Marks is_reached = flow_.spread(is_dependent_);
    scopes_.push_back({main, true, std::nullopt});
    for (const Entered& node : entered_) {
        if (is_reached[node.position] == 0) continue;
        if (!scopes_.front().makers) scopes_.front().makers = constants_in(*fields);
        enter(node, "graph", document.limits().depth);
    }
    enter_trainings(main);
    for (std::size_t next = 0; next != called_.size();) {
        const PlacedBody function = called_[next++];  // a copy: the list grows
        bodies_.push_back(function.message);
        scopes_.clear();
        scopes_.push_back({function.message, true, std::nullopt});
        enter_nodes(function.message, function.path, document.limits().depth);
        enter_graphs(
            function.message, field<"FunctionProto.attribute_proto">,
            [&] { return function.path + ".attribute_proto"; }, document.limits().depth);
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
        scopes_.push_back({*algorithm, false, std::nullopt});
        enter_nodes(*algorithm, path, depth);
        scopes_.pop_back();
    }
}

// Those of the main graph.
Dependents::Makers Dependents::constants_in(const model::FieldIndex& main) const {
    Makers makers;
    const wire::FieldRow& tensors = field<"GraphProto.initializer">;
    main.for_each(tensors, [&](const wire::Field& each) {
        const Message tensor = main.message().inner(tensors, each);
        makers.insert_or_assign(tensor.text(field<"TensorProto.name">), Maker{tensor});
    });
    for (const model::Node& node : constant_nodes_) {
        if (!value_of_constant(node)) continue;
        node.for_each_output(
            [&](std::string_view name) { makers.emplace(name, Maker{node.message()}); });
    }
    return makers;
}

void Dependents::read_nodes(const model::FieldIndex& main) {
    flow_.read(main, [&](const Dataflow::Node& node, auto&& use) {
        if (node.op_type == "Constant") constant_nodes_.emplace_back(node.message);
        const TakesSizes* const takes = sizes_taken_by(node.op_type, node.domain);
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
    body.for_each_value(nodes, [&](const wire::Field& each) {
        const model::Node node(body.inner(nodes, each));
        enter({node.message(), position++, sizes_taken_by(node.op_type(), node.domain()), true},
              path, depth_left);
    });
}

// A node that depends on the inputs: its constants, its subgraphs, the functions it calls.
void Dependents::enter(const Entered& node, const std::string& body, std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(node.message);
    const auto path = [&] { return body + ".node[" + std::to_string(node.position) + "]"; };
    if (node.takes != nullptr) find_constants(model::Node(node.message), *node.takes, path);
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
    for (const model::Attribute& attribute : model::attributes(holder, list).entries) {
        const std::uint64_t place = ordinal++;
        if (!attribute.may_hold_graph()) continue;
        std::string key = path();
        key += model::path_key(key, attribute.name(), place);
        for_each_graph_of(attribute, [&](const Message& graph, const std::string& inner) {
            bodies_.push_back(graph);
            scopes_.push_back({graph, false, std::nullopt});
            enter_nodes(graph, key + inner, depth_left - 1);
            scopes_.pop_back();
        });
    }
}

// Sizes that a node gets as constants, and that are numbers that were changed.
template <class Path>
void Dependents::find_constants(const model::Node& node, const TakesSizes& takes, Path&& path) {
    std::uint64_t i = 0;
    node.for_each_input([&](std::string_view name) {
        const std::uint64_t input = i++;
        if (input < takes.first || input > takes.last || name.empty()) return;
        if (!holds_size(name)) return;
        std::string place = path() + ".input[" + std::to_string(input) + "]";
        take_text(text_left_, place);
        constants_.push_back(std::move(place));
    });
}

// An initializer goes before an input. Nothing is around the outermost body, so only its constants
// matter.
Dependents::Makers Dependents::makers_in(const Scope& scope) {
    Makers makers;
    model::for_each_made(scope.body, [&](std::string_view name, const Message& maker) {
        if (&maker.table() == &onnx::message<"TensorProto">) {
            makers.insert_or_assign(name, Maker{maker});
        } else if (!scope.is_outermost ||
                   (model::is_node(maker) && value_of_constant(model::Node(maker)))) {
            makers.emplace(name, Maker{maker});
        }
    });
    return makers;
}

// Whether a value is a constant with one of the sizes.
bool Dependents::holds_size(std::string_view name) {
    for (Scope& scope : std::views::reverse(scopes_)) {
        if (!scope.makers) scope.makers = makers_in(scope);
        const auto found = scope.makers->find(name);
        if (found == scope.makers->end()) continue;
        Maker& maker = found->second;
        if (!maker.holds_size) maker.holds_size = makes_size(maker.message);
        return *maker.holds_size;
    }
    return false;
}

bool Dependents::makes_size(const Message& maker) const {
    if (&maker.table() == &onnx::message<"TensorProto">) return tensor_holds_size(maker);
    const auto value = model::is_node(maker) ? value_of_constant(model::Node(maker)) : std::nullopt;
    const auto* const row = value ? value->value_field() : nullptr;
    if (row == &field<"AttributeProto.t">) {
        const auto tensor = value->message().child(*row);
        return tensor && tensor_holds_size(*tensor);
    }
    bool holds = false;
    if (row == &field<"AttributeProto.ints"> || row == &field<"AttributeProto.i">) {
        value->message().for_each_value(*row, [&](const wire::Field& number) {
            holds = holds || sizes_.contains(number.int64());
        });
    }
    return holds;
}

bool Dependents::tensor_holds_size(const Message& message) const {
    const auto numbers = if_possible([&] {
        const model::Tensor tensor(document_, message);
        std::vector<std::int64_t> found;
        const std::uint64_t nbytes = tensor::packed_nbytes(tensor.count(), tensor.type().bits);
        const bool is_long = tensor.type().type == onnx::DataType::INT64;
        if ((!is_long && tensor.type().type != onnx::DataType::INT32) || nbytes > kMostSizes)
            return found;
        tensor::Values values = tensor.values();
        values.check_count();
        std::vector<std::uint8_t> bytes(nbytes);
        values.read_packed(bytes);
        const auto read = [&]<class Number>(Number number) {
            for (std::size_t at = 0; at < bytes.size(); at += sizeof number) {
                std::memcpy(&number, &bytes[at], sizeof number);
                found.push_back(number);
            }
        };
        is_long ? read(std::int64_t{}) : read(std::int32_t{});
        return found;
    });
    return numbers && std::ranges::any_of(
                          *numbers, [&](std::int64_t number) { return sizes_.contains(number); });
}

}  // namespace onnxmap::surgery
