#include "surgery/dependents.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "onnx/operators.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"
#include "tensor/header.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr std::uint64_t kMostSizes = 1024;  // bytes of a constant: more numbers are no shape

// The operators that take sizes as inputs, and which inputs these are.
struct TakesSizes {
    std::string_view op_type;
    std::uint64_t first;
    std::uint64_t last;
};
constexpr TakesSizes kTakeSizes[] = {
    {"Reshape", 1, 1}, {"Expand", 1, 1}, {"Tile", 1, 1}, {"Slice", 1, 2},
    {"Resize", 3, 3},  {"Split", 1, 1},  {"Pad", 1, 1},  {"ConstantOfShape", 0, 0},
};

const TakesSizes* sizes_taken_by(std::string_view op_type) {
    const auto* const found = std::ranges::find(kTakeSizes, op_type, &TakesSizes::op_type);
    return found == std::end(kTakeSizes) ? nullptr : found;
}

}  // namespace

Dependents::Dependents(const model::Document& document, const Message& main,
                       const std::set<std::string>& inputs, const std::set<std::int64_t>& sizes)
    : document_(document),
      inputs_(inputs),
      sizes_(sizes),
      uses_(*document.index(main), document.limits().depth),
      is_dependent_(uses_.count()) {
    for (PlacedBody& body : all_functions(document))
        functions_.emplace(function_key(body.message), std::move(body));
    const auto fields = document.index(main);
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    is_reached_.resize(fields->count(nodes));
    for (const std::string& name : inputs) mark(name);
    // Users nearly always come later, so one walk over the nodes reaches all.
    fields->for_each(nodes, [&](const wire::Field& element) {
        if (is_reached_[position_] != 0) follow(main.inner(nodes, element), position_);
        ++position_;
    });
    while (!behind_.empty()) {
        const std::uint32_t node = behind_.back();
        behind_.pop_back();
        follow(main.inner(nodes, fields->at(nodes, node)), node);
    }
    std::ranges::sort(entered_, {}, &std::pair<std::uint32_t, Message>::first);
    scopes_.push_back({main, true, std::nullopt});
    for (const auto& [position, node] : entered_)
        enter(node, "graph.node[" + std::to_string(position) + "]", document.limits().depth);
    for (std::size_t next = 0; next != called_.size();) {
        const PlacedBody function = called_[next++];  // a copy: the list grows
        bodies_.push_back(function.message);
        scopes_.clear();
        scopes_.push_back({function.message, true, std::nullopt});
        enter_nodes(function.message, function.path, document.limits().depth);
    }
}

bool Dependents::has(std::string_view value) const {
    const auto known = uses_.find(value);
    return (known && is_dependent_[*known] != 0) || inputs_.contains(std::string(value));
}

void Dependents::mark(std::string_view value) {
    const auto known = uses_.find(value);
    if (!known || std::exchange(is_dependent_[*known], 1) != 0) return;
    for (const model::Use& use : uses_.uses(*known)) {
        if (use.node == model::Use::kNone || std::exchange(is_reached_[use.node], 1) != 0) continue;
        if (use.node < position_) behind_.push_back(use.node);
    }
}

// Marks what a node makes, and keeps the node if more of it matters.
void Dependents::follow(const Message& node, std::uint32_t position) {
    bool matters = !functions_.empty();
    node.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (row == &field<"NodeProto.output">) {
            if (!found.bytes.empty()) mark(found.text());
        } else if (row == &field<"NodeProto.op_type">) {
            matters = matters || sizes_taken_by(found.text()) != nullptr;
        } else if (row == &field<"NodeProto.attribute">) {
            matters = matters || model::Attribute(node.inner(*row, found)).may_hold_graph();
        }
    });
    if (matters) entered_.emplace_back(position, node);
}

void Dependents::enter_nodes(const Message& body, const std::string& path,
                             std::uint32_t depth_left) {
    const wire::FieldRow& nodes = model::nodes_of(body);
    std::uint64_t position = 0;
    body.for_each_value(nodes, [&](const wire::Field& each) {
        enter(body.inner(nodes, each), path + ".node[" + std::to_string(position++) + "]",
              depth_left);
    });
}

// A node that depends on the inputs: its constants, its subgraphs, the functions it calls.
void Dependents::enter(const Message& message, const std::string& path, std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(message);
    const model::Node node(message);
    find_constants(node, path);
    if (!functions_.empty()) {
        const auto called = functions_.equal_range(function_key(message));
        for (auto each = called.first; each != called.second; ++each)
            called_.push_back(each->second);
        functions_.erase(called.first, called.second);
    }
    for (const model::Attribute& attribute : node.attributes().entries) {
        std::uint64_t position = 0;
        attribute.for_each_graph([&](const Message& graph) {
            std::string inner = path + ".attribute[\"" + escaped(attribute.name(), '"') + "\"]";
            inner += graph_place(attribute, position++);
            bodies_.push_back(graph);
            scopes_.push_back({graph, false, std::nullopt});
            enter_nodes(graph, inner, depth_left - 1);
            scopes_.pop_back();
        });
    }
}

// Sizes that a node gets as constants, and that are numbers that were changed.
void Dependents::find_constants(const model::Node& node, const std::string& path) {
    const TakesSizes* const takes = sizes_taken_by(node.op_type());
    if (takes == nullptr || !onnx::plain_domain(node.domain()).empty()) return;
    std::uint64_t i = 0;
    node.for_each_input([&](std::string_view name) {
        const std::uint64_t input = i++;
        if (input < takes->first || input > takes->last || name.empty()) return;
        if (holds_size(name)) constants_.push_back(path + ".input[" + std::to_string(input) + "]");
    });
}

// An initializer goes before an input. Nothing is around the outermost body, so only its constants
// matter.
Dependents::Makers Dependents::makers_in(const Scope& scope) {
    Makers makers;
    model::for_each_made(scope.body, [&](std::string_view name, const Message& maker) {
        if (&maker.table() == &onnx::message<"TensorProto">) {
            makers.insert_or_assign(name, maker);
        } else if (!scope.is_outermost ||
                   (model::is_node(maker) && value_of_constant(model::Node(maker)))) {
            makers.emplace(name, maker);
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
        const Message& maker = found->second;
        if (&maker.table() == &onnx::message<"TensorProto">) return tensor_holds_size(maker);
        const auto value =
            model::is_node(maker) ? value_of_constant(model::Node(maker)) : std::nullopt;
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
    return false;
}

bool Dependents::tensor_holds_size(const Message& message) const {
    const auto numbers = if_possible([&] {
        const model::Tensor tensor(document_, message);
        std::vector<std::int64_t> found;
        const std::uint64_t nbytes = tensor::packed_nbytes(tensor.count(), tensor.type().bits);
        const bool is_long = tensor.type().type == onnx::DataType::INT64;
        if ((!is_long && tensor.type().type != onnx::DataType::INT32) || nbytes > kMostSizes)
            return found;
        std::vector<std::uint8_t> bytes(nbytes);
        tensor.values(source::kRecently).read_packed(bytes);
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
