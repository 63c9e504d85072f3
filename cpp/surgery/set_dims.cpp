#include "surgery/set_dims.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "model/value_uses.hpp"
#include "surgery/assembly.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/holders.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kDims = field<"TensorShapeProto.dim">;
constexpr const wire::FieldRow& kValue = field<"TensorShapeProto.Dimension.dim_value">;
constexpr const wire::FieldRow& kParam = field<"TensorShapeProto.Dimension.dim_param">;
constexpr std::uint64_t kMostSizes = 1024;  // bytes of a constant: more numbers are no shape

void set_dim(const model::Document& document, const Message& dim, const NewDim& to) {
    if (to.value) {
        set_number(document, dim, kValue, *to.value);
    } else if (!to.param.empty()) {
        model::set_value(document, dim, kParam, model::text_value(kParam, to.param));
    } else {
        model::clear(document, dim, kValue);
        model::clear(document, dim.current(), kParam);
    }
}

NewDim dim_of(const Message& dim) {
    if (const auto value = dim.find(kValue)) return {value->int64(), {}};
    return {std::nullopt, std::string(dim.text(kParam))};
}

// Calls visit(dim) for each dimension in a message.
class DimWalk {
  public:
    template <class Visit>
    void enter(const Message& message, std::uint32_t depth_left, Visit&& visit) const {
        if (depth_left == 0) onnx::fail_too_deep(message);
        onnx::Pieces::Rows present = 0;
        message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
            if (row == nullptr || !row->is_message() || !may_hold(*row)) return;
            if (row == &kDims) {
                visit(message.inner(*row, each));
            } else if (row->repeated()) {
                enter(message.inner(*row, each), depth_left - 1, visit);
            } else {
                present |= onnx::Pieces::rows(message.table(), *row);
            }
        });
        for (const wire::FieldRow& row : message.table().fields) {
            if ((present & onnx::Pieces::rows(message.table(), row)) == 0) continue;
            if (const auto child = message.child(row)) enter(*child, depth_left - 1, visit);
        }
    }

  private:
    [[nodiscard]] bool may_hold(const wire::FieldRow& row) const {
        return &row == &kDims || holds_[row.type_index];
    }

    Holders holds_ = find_holders([](const wire::FieldRow& row) { return &row == &kDims; });
};

// The operators that take sizes as inputs, and which inputs these are.
struct TakesSizes {
    std::string_view op_type;
    std::uint64_t first;
    std::uint64_t last;
};
constexpr TakesSizes kTakeSizes[] = {
    {"Reshape", 1, 1}, {"Expand", 1, 1}, {"Tile", 1, 1},
    {"Slice", 1, 2},   {"Resize", 3, 3}, {"ConstantOfShape", 0, 0},
};

class SettingDims {
  public:
    SettingDims(const model::Document& document, const NewDims& dims)
        : document_(document), main_(model::main_graph_message(document)) {
        for (const auto& [name, dim] : dims.params) add_param(name, dim);
        for (const auto& [name, shape] : dims.inputs) add_input(name, shape);
        check_known(dims);
        if (!changed_.empty()) find_dependents();
    }

    DimReport apply() {
        // Numbers of outputs go before new ones come; value infos go after the last edit of them.
        forget_sizes(
            [&](const Message& graph, auto&& is_stale) { forget_numbers(graph, is_stale); });
        for (const auto& [dim, to] : named_) set_dim(document_, dim.current(), to);
        for (const auto& [dim, to] : single_) set_dim(document_, dim.current(), to);
        forget_sizes([&](const Message& graph, auto&& is_stale) { forget_infos(graph, is_stale); });
        return std::move(report_);
    }

  private:
    void add_param(std::string_view name, const NewDim& dim) {
        const auto [known, is_new] = params_.emplace(name, dim);
        if (!is_new && known->second != dim) {
            throw std::invalid_argument("the dimension " + in_quotes(name) +
                                        " would be two different ones");
        }
    }

    void add_input(const std::string& name, const std::vector<NewDim>& shape) {
        const wire::FieldRow& list = field<"GraphProto.input">;
        std::optional<Message> info;
        main_.for_each_value(list, [&](const wire::Field& each) {
            const Message input = main_.inner(list, each);
            if (input.text(field<"ValueInfoProto.name">) == name) info = input;
        });
        if (!info) throw UnknownNames("the graph has no input " + in_quotes(name));
        const auto type = info->child(field<"ValueInfoProto.type">);
        const auto tensor = type ? type->child(field<"TypeProto.tensor_type">) : std::nullopt;
        const auto known = tensor ? tensor->child(field<"TypeProto.Tensor.shape">) : std::nullopt;
        std::vector<Message> dims;
        if (known) {
            known->for_each_value(
                kDims, [&](const wire::Field& each) { dims.push_back(known->inner(kDims, each)); });
        }
        if (!known || dims.size() != shape.size()) {
            throw std::invalid_argument(
                "the input " + in_quotes(name) + " has " +
                (known ? std::to_string(dims.size()) + " dimensions" : "no known rank") + ", not " +
                std::to_string(shape.size()));
        }
        for (std::size_t i = 0; i < dims.size(); ++i) {
            const NewDim before = dim_of(dims[i]);
            if (before == shape[i]) continue;
            if (!before.param.empty() && (shape[i].value || !shape[i].param.empty())) {
                add_param(dims[i].text(kParam), shape[i]);
                continue;
            }
            single_.emplace_back(dims[i], shape[i]);
            if (before.value || !before.param.empty()) changed_.insert(name);
            if (before.value) sizes_.insert(*before.value);
        }
    }

    // All dimensions that have a name that is replaced. A name that none has is an error.
    void check_known(const NewDims& dims) {
        std::set<std::string_view> seen;
        DimWalk().enter(document_.root(), document_.limits().depth + 1, [&](const Message& dim) {
            const auto found = params_.find(dim.text(kParam));
            if (found == params_.end() || dim.has(kValue)) return;
            seen.insert(found->first);
            named_.emplace_back(dim, found->second);
        });
        for (const auto& [name, dim] : dims.params) {
            if (!seen.contains(name))
                throw UnknownNames("the model has no dimension " + in_quotes(name));
        }
    }

    // The values of the main graph that depend on changed inputs, and the nodes that make them.
    void find_dependents() {
        const auto fields = document_.index(main_);
        const model::ValueUses uses(*fields, document_.limits().depth);
        const wire::FieldRow& nodes = field<"GraphProto.node">;
        std::vector<std::string_view> waiting(changed_.begin(), changed_.end());
        std::set<std::uint32_t> known;
        for (const std::string& name : changed_) values_.insert(name);
        while (!waiting.empty()) {
            const std::string_view value = waiting.back();
            waiting.pop_back();
            for (const model::Use& use : uses.uses(value)) {
                if (use.node == model::Use::kNone || !known.insert(use.node).second) continue;
                const Message node = main_.inner(nodes, fields->at(nodes, use.node));
                nodes_.emplace_back(use.node, node);
                model::Node(node).for_each_output([&](std::string_view output) {
                    if (!output.empty() && values_.insert(output).second) waiting.push_back(output);
                });
            }
        }
        std::ranges::sort(nodes_, {}, &std::pair<std::uint32_t, Message>::first);
        find_constants(uses, *fields);
    }

    // Sizes that nodes get as constants, and that are numbers that were changed.
    void find_constants(const model::ValueUses& uses, const model::FieldIndex& fields) {
        std::unordered_map<std::string_view, Message> tensors;
        const wire::FieldRow& list = field<"GraphProto.initializer">;
        fields.for_each(list, [&](const wire::Field& each) {
            const Message tensor = main_.inner(list, each);
            tensors.emplace(tensor.text(field<"TensorProto.name">), tensor);
        });
        for (const auto& [position, message] : nodes_) {
            const model::Node node(message);
            const auto* const takes =
                std::ranges::find(kTakeSizes, node.op_type(), &TakesSizes::op_type);
            if (takes == std::end(kTakeSizes) || !node.domain().empty()) continue;
            std::uint64_t i = 0;
            node.for_each_input([&](std::string_view name) {
                const std::uint64_t input = i++;
                if (input < takes->first || input > takes->last || name.empty()) return;
                const auto known = tensors.find(name);
                const auto tensor = known != tensors.end() ? std::optional(known->second)
                                                           : constant(uses, fields, name);
                if (!tensor || !holds_size(*tensor)) return;
                report_.constants.push_back("graph.node[" + std::to_string(position) + "].input[" +
                                            std::to_string(input) + "]");
            });
        }
    }

    [[nodiscard]] std::optional<Message> constant(const model::ValueUses& uses,
                                                  const model::FieldIndex& fields,
                                                  std::string_view value) const {
        const auto maker = uses.producer(value);
        if (!maker) return std::nullopt;
        const wire::FieldRow& nodes = field<"GraphProto.node">;
        const model::Node node(main_.inner(nodes, fields.at(nodes, *maker)));
        if (node.op_type() != "Constant") return std::nullopt;
        for (const model::Attribute& each : node.attributes().entries) {
            if (each.value_field() == &field<"AttributeProto.t">)
                return each.message().child(field<"AttributeProto.t">);
        }
        return std::nullopt;
    }

    [[nodiscard]] bool holds_size(const Message& message) const {
        const auto numbers = if_possible([&] {
            const model::Tensor tensor(document_, message);
            std::vector<std::int64_t> found;
            const std::uint64_t nbytes = tensor::packed_nbytes(tensor.count(), tensor.type().bits);
            if (tensor.type().type != onnx::DataType::INT64 || nbytes > kMostSizes) return found;
            std::vector<std::uint8_t> bytes(nbytes);
            tensor.values(source::kRecently).read_packed(bytes);
            found.resize(bytes.size() / sizeof found[0]);
            if (nbytes > 0) std::memcpy(found.data(), bytes.data(), nbytes);
            return found;
        });
        return numbers && std::ranges::any_of(*numbers, [&](std::int64_t number) {
                   return sizes_.contains(number);
               });
    }

    // Calls forget(graph, is_stale) for the main graph and the subgraphs of nodes that depend on
    // changed inputs; is_stale(name) tells the values that do.
    template <class Forget>
    void forget_sizes(Forget&& forget) {
        if (changed_.empty()) return;
        forget(main_, [&](std::string_view name) { return values_.contains(name); });
        for (const auto& [position, node] : nodes_)
            forget_below(node, document_.limits().depth, forget);
    }

    template <class Forget>
    void forget_below(const Message& node, std::uint32_t depth_left, Forget&& forget) {
        if (depth_left == 0) onnx::fail_too_deep(node);
        model::Node(node).for_each_subgraph([&](const Message& graph) {
            forget(graph, [](std::string_view) { return true; });
            const wire::FieldRow& nodes = field<"GraphProto.node">;
            graph.for_each_value(nodes, [&](const wire::Field& each) {
                forget_below(graph.inner(nodes, each), depth_left - 1, forget);
            });
        });
    }

    template <class IsStale>
    void forget_infos(const Message& graph, IsStale&& is_stale) {
        const wire::FieldRow& list = field<"GraphProto.value_info">;
        std::vector<std::uint64_t> gone;
        std::uint64_t position = 0;
        graph.for_each_value(list, [&](const wire::Field& each) {
            const auto name = graph.inner(list, each).text(field<"ValueInfoProto.name">);
            if (is_stale(name)) {
                gone.push_back(position);
                report_.value_infos.emplace_back(name);
            }
            ++position;
        });
        if (!gone.empty()) model::erase(document_, graph.current(), list, gone);
    }

    // The numbers in the shapes of outputs.
    template <class IsStale>
    void forget_numbers(const Message& graph, IsStale&& is_stale) const {
        const wire::FieldRow& list = field<"GraphProto.output">;
        std::vector<Message> stale;
        graph.for_each_value(list, [&](const wire::Field& each) {
            const Message output = graph.inner(list, each);
            if (!is_stale(output.text(field<"ValueInfoProto.name">))) return;
            DimWalk().enter(output, document_.limits().depth, [&](const Message& dim) {
                if (dim.has(kValue)) stale.push_back(dim);
            });
        });
        for (const Message& dim : stale) model::clear(document_, dim.current(), kValue);
    }

    const model::Document& document_;
    Message main_;
    std::map<std::string_view, NewDim> params_;
    std::vector<std::pair<Message, NewDim>> named_;   // dimensions with a name that is replaced
    std::vector<std::pair<Message, NewDim>> single_;  // of inputs
    std::set<std::string> changed_;                   // inputs whose sizes changed
    std::set<std::int64_t> sizes_;                    // what they were
    std::set<std::string_view> values_;               // that depend on them
    std::vector<std::pair<std::uint32_t, Message>> nodes_;
    DimReport report_;
};

}  // namespace

DimReport set_dims(const model::Document& document, const NewDims& dims) {
    model::check_editable(document, document.root());
    return SettingDims(document, dims).apply();
}

}  // namespace onnxmap::surgery
