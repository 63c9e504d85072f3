#include "surgery/set_dims.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "model/value_uses.hpp"
#include "onnx/operators.hpp"
#include "surgery/assembly.hpp"
#include "surgery/bodies.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/dim_walk.hpp"
#include "surgery/graph_parts.hpp"
#include "tensor/header.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kDims = DimWalk::kDims;
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

class SettingDims {
  public:
    SettingDims(const model::Document& document, const NewDims& dims)
        : document_(document), main_(model::main_graph_message(document)) {
        for (const auto& [name, dim] : dims.params) add_param(name, dim);
        add_inputs(dims);
        check_known(dims);
        check_defaults();
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

    void add_inputs(const NewDims& dims) {
        const wire::FieldRow& list = field<"GraphProto.input">;
        main_.for_each_value(list, [&](const wire::Field& each) {
            Message input = main_.inner(list, each);
            const std::string_view name = input.text(field<"ValueInfoProto.name">);
            inputs_.insert_or_assign(name, Input{std::move(input), nullptr});
        });
        for (const auto& [name, shape] : dims.inputs) {
            const auto found = inputs_.find(name);
            if (found == inputs_.end())
                throw UnknownNames("the graph has no input " + in_quotes(name));
            found->second.shape = &shape;
            add_input(name, found->second.info, shape);
        }
    }

    static std::optional<std::vector<Message>> dims_of(const Message& info) {
        const auto type = info.child(field<"ValueInfoProto.type">);
        const auto tensor = type ? type->child(field<"TypeProto.tensor_type">) : std::nullopt;
        const auto shape = tensor ? tensor->child(field<"TypeProto.Tensor.shape">) : std::nullopt;
        if (!shape) return std::nullopt;
        std::vector<Message> dims;
        shape->for_each_value(
            kDims, [&](const wire::Field& each) { dims.push_back(shape->inner(kDims, each)); });
        return dims;
    }

    void add_input(const std::string& name, const Message& info, const std::vector<NewDim>& shape) {
        const auto known = dims_of(info);
        if (!known || known->size() != shape.size()) {
            throw std::invalid_argument(
                "the input " + in_quotes(name) + " has " +
                (known ? std::to_string(known->size()) + " dimensions" : "no known rank") +
                ", not " + std::to_string(shape.size()));
        }
        const std::vector<Message>& dims = *known;
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

    // A default of an input keeps its shape, which must fit.
    void check_defaults() const {
        const wire::FieldRow& list = field<"GraphProto.initializer">;
        main_.for_each_value(list, [&](const wire::Field& each) {
            const Message tensor = main_.inner(list, each);
            const auto found = inputs_.find(tensor.text(field<"TensorProto.name">));
            if (found == inputs_.end()) return;
            const auto& [info, shape] = found->second;
            const auto dims = dims_of(info);
            const tensor::Header header = tensor::read_header(tensor);
            for (std::size_t i = 0; dims && i < std::min(dims->size(), header.dims().size()); ++i) {
                const NewDim before = dim_of((*dims)[i]);
                const auto param = params_.find(before.param);
                const NewDim after = !before.value && param != params_.end() ? param->second
                                     : shape != nullptr                      ? (*shape)[i]
                                                                             : before;
                if (after == before || !after.value || *after.value == header.dims()[i]) continue;
                throw std::invalid_argument(
                    "the input " + in_quotes(found->first) + " has a default of " +
                    std::to_string(header.dims()[i]) + " in dimension " + std::to_string(i) +
                    ", not " + std::to_string(*after.value) +
                    ": replace its initializer before, or remove it");
            }
        });
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
        for (PlacedBody& body : all_bodies(document_)) {
            if (is_function(body.message))
                functions_.emplace(function_key(body.message), std::move(body));
        }
        scopes_.push_back(makers_in(main_));
        for (const auto& [position, node] : nodes_)
            enter(node, "graph.node[" + std::to_string(position) + "]", document_.limits().depth);
        for (std::size_t next = 0; next != called_.size();) {
            const PlacedBody function = called_[next++];  // a copy: the list grows
            scopes_.assign(1, makers_in(function.message));
            enter_nodes(function.message, function.path, document_.limits().depth);
        }
    }

    // What makes each value of a graph or function; an initializer goes before an input.
    using Makers = std::unordered_map<std::string_view, Message>;
    static Makers makers_in(const Message& body) {
        Makers makers;
        model::for_each_made(body, [&](std::string_view name, const Message& maker) {
            if (&maker.table() == &onnx::message<"TensorProto">) {
                makers.insert_or_assign(name, maker);
            } else {
                makers.emplace(name, maker);
            }
        });
        return makers;
    }

    void enter_nodes(const Message& body, const std::string& path, std::uint32_t depth_left) {
        const wire::FieldRow& nodes = model::nodes_of(body);
        std::uint64_t position = 0;
        body.for_each_value(nodes, [&](const wire::Field& each) {
            enter(body.inner(nodes, each), path + ".node[" + std::to_string(position++) + "]",
                  depth_left);
        });
    }

    // A node that depends on changed inputs: its constants, its subgraphs, the functions it calls.
    void enter(const Message& message, const std::string& path, std::uint32_t depth_left) {
        if (depth_left == 0) onnx::fail_too_deep(message);
        const model::Node node(message);
        find_constants(node, path);
        const auto called = functions_.equal_range(function_key(message));
        for (auto each = called.first; each != called.second; ++each)
            called_.push_back(each->second);
        functions_.erase(called.first, called.second);
        for (const model::Attribute& attribute : node.attributes().entries) {
            std::uint64_t position = 0;
            attribute.for_each_graph([&](const Message& graph) {
                std::string inner = path + ".attribute[\"" + escaped(attribute.name(), '"') + "\"]";
                inner += attribute.value_field() == &field<"AttributeProto.g">
                             ? ".g"
                             : ".graphs[" + std::to_string(position++) + "]";
                subgraphs_.push_back(graph);
                scopes_.push_back(makers_in(graph));
                enter_nodes(graph, inner, depth_left - 1);
                scopes_.pop_back();
            });
        }
    }

    // Sizes that a node gets as constants, and that are numbers that were changed.
    void find_constants(const model::Node& node, const std::string& path) {
        const auto* const takes =
            std::ranges::find(kTakeSizes, node.op_type(), &TakesSizes::op_type);
        if (takes == std::end(kTakeSizes) || !onnx::plain_domain(node.domain()).empty()) return;
        std::uint64_t i = 0;
        node.for_each_input([&](std::string_view name) {
            const std::uint64_t input = i++;
            if (input < takes->first || input > takes->last || name.empty()) return;
            if (holds_size(name))
                report_.constants.push_back(path + ".input[" + std::to_string(input) + "]");
        });
    }

    // Whether a value is a constant with such a number.
    [[nodiscard]] bool holds_size(std::string_view name) const {
        for (const Makers& makers : std::views::reverse(scopes_)) {
            const auto found = makers.find(name);
            if (found == makers.end()) continue;
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

    [[nodiscard]] bool tensor_holds_size(const Message& message) const {
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
        return numbers && std::ranges::any_of(*numbers, [&](std::int64_t number) {
                   return sizes_.contains(number);
               });
    }

    // Calls forget(graph, is_stale) for the main graph, and the subgraphs and functions of nodes
    // that depend on changed inputs; is_stale(name) tells the values that do.
    template <class Forget>
    void forget_sizes(Forget&& forget) {
        if (changed_.empty()) return;
        forget(main_, [&](std::string_view name) { return values_.contains(name); });
        const auto all = [](std::string_view) { return true; };
        for (const Message& graph : subgraphs_) forget(graph, all);
        for (const PlacedBody& function : called_) forget(function.message, all);
    }

    template <class IsStale>
    void forget_infos(const Message& graph, IsStale&& is_stale) {
        const wire::FieldRow& list =
            is_function(graph) ? field<"FunctionProto.value_info"> : field<"GraphProto.value_info">;
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

    // The numbers in the shapes of outputs, and of inputs of subgraphs.
    template <class IsStale>
    void forget_numbers(const Message& graph, IsStale&& is_stale) const {
        if (is_function(graph)) return;  // its inputs and outputs have no types
        std::vector<Message> stale;
        for (const auto* const list : {&field<"GraphProto.input">, &field<"GraphProto.output">}) {
            if (list == &field<"GraphProto.input"> && graph.is(main_)) continue;
            graph.for_each_value(*list, [&](const wire::Field& each) {
                const Message value = graph.inner(*list, each);
                if (!is_stale(value.text(field<"ValueInfoProto.name">))) return;
                DimWalk().enter(value, document_.limits().depth, [&](const Message& dim) {
                    if (dim.has(kValue)) stale.push_back(dim);
                });
            });
        }
        for (const Message& dim : stale) model::clear(document_, dim.current(), kValue);
    }

    struct Input {
        Message info;
        const std::vector<NewDim>* shape;  // the new one; null if none is given
    };

    const model::Document& document_;
    Message main_;
    std::map<std::string_view, NewDim> params_;
    std::vector<std::pair<Message, NewDim>> named_;   // dimensions with a name that is replaced
    std::vector<std::pair<Message, NewDim>> single_;  // of inputs
    std::set<std::string> changed_;                   // inputs whose sizes changed
    std::set<std::int64_t> sizes_;                    // what they were
    std::set<std::string_view> values_;               // that depend on them
    std::vector<std::pair<std::uint32_t, Message>> nodes_;
    std::map<std::string_view, Input> inputs_;
    std::vector<Makers> scopes_;      // of the node that is read, the innermost last
    std::vector<Message> subgraphs_;  // of dependent nodes
    std::multimap<std::string, PlacedBody> functions_;  // by their keys: those not called so far
    std::vector<PlacedBody> called_;
    DimReport report_;
};

}  // namespace

DimReport set_dims(const model::Document& document, const NewDims& dims) {
    model::check_editable(document, document.root());
    return SettingDims(document, dims).apply();
}

}  // namespace onnxmap::surgery
