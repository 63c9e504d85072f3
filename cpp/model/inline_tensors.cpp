#include "model/inline_tensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "model/structure_pages.hpp"
#include "onnx/data_type.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr std::uint64_t kLeastIntegers = 64 << 10;  // bytes that no shape needs
// Numbers that are no integers and decide a shape are one, or one for each dimension (the scales of
// Resize), and readers have at most 64 dimensions. Of integers, Split takes one for each output.
constexpr std::uint64_t kMostOfOthers = 64;

bool is_integer(const tensor::Header& tensor) {
    const auto type = static_cast<onnx::DataType>(tensor.data_type);
    return type == onnx::DataType::INT32 || type == onnx::DataType::INT64;
}

struct Operator {
    std::string_view name;
    unsigned inputs;  // a bit for each that decides a shape
};

template <class... Positions>
constexpr unsigned inputs(Positions... positions) {
    return (0U | ... | (1U << positions));
}

// The operators of ai.onnx, in all versions, that need the values of an input to tell the shape of
// an output; onnxruntime's constant folding needs the condition of an If. Sorted by name.
// tests/python/save/test_inline_tensors.py asks onnx and onnxruntime about every operator.
constexpr std::array kOperators = {
    Operator{"AffineGrid", inputs(1)},      Operator{"BlackmanWindow", inputs(0)},
    Operator{"CenterCropPad", inputs(1)},   Operator{"Col2Im", inputs(1, 2)},
    Operator{"ConstantOfShape", inputs(0)}, Operator{"DFT", inputs(1, 2)},
    Operator{"Expand", inputs(1)},          Operator{"HammingWindow", inputs(0)},
    Operator{"HannWindow", inputs(0)},      Operator{"If", inputs(0)},
    Operator{"OneHot", inputs(1)},          Operator{"Pad", inputs(1, 3)},
    Operator{"Range", inputs(0, 1, 2)},     Operator{"ReduceL1", inputs(1)},
    Operator{"ReduceL2", inputs(1)},        Operator{"ReduceLogSum", inputs(1)},
    Operator{"ReduceLogSumExp", inputs(1)}, Operator{"ReduceMax", inputs(1)},
    Operator{"ReduceMean", inputs(1)},      Operator{"ReduceMin", inputs(1)},
    Operator{"ReduceProd", inputs(1)},      Operator{"ReduceSum", inputs(1)},
    Operator{"ReduceSumSquare", inputs(1)}, Operator{"Reshape", inputs(1)},
    Operator{"Resize", inputs(1, 2, 3)},    Operator{"STFT", inputs(1, 3)},
    Operator{"Slice", inputs(1, 2, 3, 4)},  Operator{"Split", inputs(1)},
    Operator{"SplitToSequence", inputs(1)}, Operator{"Squeeze", inputs(1)},
    Operator{"Tile", inputs(1, 2)},         Operator{"TopK", inputs(1)},
    Operator{"Unsqueeze", inputs(1)},       Operator{"Upsample", inputs(1)},
};
static_assert(std::ranges::is_sorted(kOperators, {}, &Operator::name));

bool is_standard(const Node& node) { return onnx::plain_domain(node.domain()).empty(); }

unsigned inputs_that_decide(const Node& node) {
    const std::string_view name = node.op_type();
    const auto* const found = std::ranges::lower_bound(kOperators, name, {}, &Operator::name);
    const bool is_known = found != kOperators.end() && found->name == name && is_standard(node);
    return is_known ? found->inputs : 0;
}

// Finds the tensors that are operands, by the names of initializers and of the outputs of Constant
// nodes that are visible where a node is.
class OperandWalk {
  public:
    OperandWalk(const Document& document, std::unordered_set<const std::uint8_t*>& found)
        : found_(found), pages_(document.source(), true) {}

    void enter_model(const onnx::Message& model, std::uint32_t depth_left) {
        if (const auto graph = model.child(field<"ModelProto.graph">)) {
            enter_graph(*graph, depth_left);
        }
        model.for_each_child(field<"ModelProto.functions">, [&](const onnx::Message& function) {
            enter(function, field<"FunctionProto.node">, depth_left,
                  [&] { note_constants(function, field<"FunctionProto.node">); });
        });
    }

  private:
    using Key = const std::uint8_t*;

    void enter_graph(const onnx::Message& graph, std::uint32_t depth_left) {
        enter(graph, field<"GraphProto.node">, depth_left, [&] {
            for_each(graph, field<"GraphProto.input">, [&](const onnx::Message& input) {
                note(input.text(field<"ValueInfoProto.name">), nullptr);
            });
            for_each(graph, field<"GraphProto.initializer">, [&](const onnx::Message& tensor) {
                note(tensor.text(field<"TensorProto.name">), tensor.key());
            });
            note_constants(graph, field<"GraphProto.node">);
        });
    }

    // `note_all`: notes the values that the nodes see, besides those of the graphs around.
    template <class NoteAll>
    void enter(const onnx::Message& owner, const wire::FieldRow& nodes, std::uint32_t depth_left,
               NoteAll&& note_all) {
        if (depth_left == 0) onnx::fail_too_deep(owner);
        const std::size_t before = hidden_.size();
        note_all();
        for_each(owner, nodes, [&](const onnx::Message& message) {
            const Node node(message);
            const unsigned inputs = inputs_that_decide(node);
            unsigned index = 0;
            if (inputs != 0) {
                node.for_each_input([&](std::string_view name) {
                    if (index < 32 && (inputs >> index & 1) != 0) use(name);
                    ++index;
                });
            }
            node.for_each_subgraph(
                [&](const onnx::Message& graph) { enter_graph(graph, depth_left - 1); });
        });
        for (; hidden_.size() > before; hidden_.pop_back()) {
            makers_[hidden_.back().first] = hidden_.back().second;
        }
    }

    template <class Visit>
    void for_each(const onnx::Message& owner, const wire::FieldRow& row, Visit&& visit) {
        owner.for_each_value(row, [&](const wire::Field& value) {
            pages_.note_read({value.begin, 0});
            visit(owner.inner(row, value));
        });
    }

    void note_constants(const onnx::Message& owner, const wire::FieldRow& nodes) {
        for_each(owner, nodes, [&](const onnx::Message& message) {
            const Node node(message);
            if (node.op_type() != "Constant" || !is_standard(node)) return;
            for (const Attribute& each : node.attributes()) {
                const auto tensor = each.name() == "value"
                                        ? each.message().child(field<"AttributeProto.t">)
                                        : std::nullopt;
                if (!tensor) continue;
                node.for_each_output([&](std::string_view name) { note(name, tensor->key()); });
            }
        });
    }

    void note(std::string_view name, Key maker) {
        const auto [position, is_new] = names_.add(name);
        if (is_new) makers_.push_back(nullptr);
        hidden_.emplace_back(position, std::exchange(makers_[position], maker));
    }

    void use(std::string_view name) {
        const auto known = names_.find(name);
        if (known && !name.empty() && makers_[*known] != nullptr) found_.insert(makers_[*known]);
    }

    std::unordered_set<Key>& found_;
    StructurePages pages_;
    NameTable names_{NameTable::Text::copied};
    std::vector<Key> makers_;                            // of each name: its tensor, or null
    std::vector<std::pair<std::uint32_t, Key>> hidden_;  // the makers around the graphs entered
};

}  // namespace

bool InlineTensors::may_decide_shape(const tensor::Header& tensor, std::uint64_t nbytes) const {
    return (is_integer(tensor) && nbytes < kLeastIntegers) || decides_shape(tensor);
}

bool InlineTensors::decides_shape(const tensor::Header& tensor) const {
    std::uint64_t count = 1;
    for (const std::int64_t dim : tensor.dims()) {
        const bool fits = dim >= 0 && checked_mul(count, static_cast<std::uint64_t>(dim), count);
        if (!fits) return false;
    }
    const bool is_list_of_integers = is_integer(tensor) && tensor.rank <= 1;
    if (!document_.is_model() || (count > kMostOfOthers && !is_list_of_integers)) return false;
    if (!operands_) {
        auto found = std::make_unique<Keys>();
        OperandWalk(document_, *found).enter_model(document_.root(), document_.limits().depth);
        operands_ = std::move(found);
    }
    return operands_->contains(tensor.begin);
}

}  // namespace onnxmap::model
