#include "surgery/set_dims.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/error.hpp"
#include "model/dimension.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "surgery/assembly.hpp"
#include "surgery/dependents.hpp"
#include "surgery/dim_walk.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kValue = field<"TensorShapeProto.Dimension.dim_value">;
constexpr const wire::FieldRow& kParam = field<"TensorShapeProto.Dimension.dim_param">;

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
    const model::Dimension known = model::read_dimension(dim);
    return {known.value, std::string(known.param)};
}

// Whether a character can be in a name that is a part of an expression, like `floor(height/2)`.
bool is_of_name(char each) noexcept {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '.';
}

class SettingDims {
  public:
    SettingDims(const model::Document& document, const NewDims& dims)
        : document_(document),
          main_(model::main_graph_message(document)),
          rewrites_(dims.constants) {
        for (const auto& [name, dim] : dims.params) {
            if (model::is_placeholder(name)) {
                throw UnknownNames("the model has no dimension " + in_quotes(name) +
                                   ": that stands for unknown sizes; give the input a new shape");
            }
            add_param(name, dim);
        }
        add_inputs(dims);
        check_known(dims);
        check_defaults();
        if (!changed_.empty()) dependents_.emplace(document, main_, changed_, sizes_);
    }

    DimReport apply() {
        // Numbers of outputs go before new ones come; value infos go after the last edit of them.
        forget_sizes(
            [&](const Message& graph, auto&& is_stale) { forget_numbers(graph, is_stale); });
        for (const auto& [dim, to] : named_) set_dim(document_, dim.current(), to);
        for (const auto& [dim, to] : single_) set_dim(document_, dim.current(), to);
        forget_sizes([&](const Message& graph, auto&& is_stale) { forget_infos(graph, is_stale); });
        if (dependents_) report_.places = dependents_->places().found();
        return std::move(report_);
    }

  private:
    using Numbers = std::vector<std::optional<std::int64_t>>;
    struct Input {
        Message info;
        const std::vector<NewDim>* shape = nullptr;     // the new one; null if none is given
        std::optional<Numbers> numbers = std::nullopt;  // new_numbers(), if it has a default
    };

    void add_param(std::string_view name, const NewDim& dim) {
        const auto [known, is_new] = params_.emplace(name, dim);
        if (!is_new && known->second != dim) {
            throw std::invalid_argument("the dimension " + in_quotes(name) +
                                        " would get two different values");
        }
    }

    void add_inputs(const NewDims& dims) {
        document_.index(main_)->for_each_child(field<"GraphProto.input">, [&](Message input) {
            const std::string_view name = input.text(field<"ValueInfoProto.name">);
            inputs_.insert_or_assign(name, Input{std::move(input)});
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
        shape->for_each_child(kDims, [&](const Message& each) { dims.push_back(each); });
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
            // Also a name that stays: no other dimension may ask for another one.
            if (!before.param.empty() && (shape[i].value || !shape[i].param.empty())) {
                add_param(dims[i].text(kParam), shape[i]);
                continue;
            }
            if (before == shape[i]) {
                if (before.value) sizes_.kept.insert(*before.value);
                continue;
            }
            single_.emplace_back(dims[i], shape[i]);
            fills_ = fills_ || before == NewDim();
            if (before.value || !before.param.empty()) changed_.insert(name);
            if (!before.value) continue;
            const auto axis = static_cast<std::int64_t>(i);
            for (const auto place : {axis, axis - static_cast<std::int64_t>(dims.size())}) {
                const auto [same, is_new] = sizes_.changed[*before.value].emplace(place, shape[i]);
                if (same->second != shape[i]) same->second.reset();
            }
        }
    }

    // All dimensions that have a name that is replaced. A name that none has is an error. If an
    // unknown size becomes known, placeholders go: inference would take them for sizes.
    void check_known(const NewDims& dims) {
        if (params_.empty() && !fills_) return;
        std::set<std::string_view> seen;
        for_each_dim(document_.root(), document_.limits().depth + 1, [&](const Message& dim) {
            const std::string_view before = dim.text(kParam);
            if (before.empty() && !dim.has(kValue)) return;
            if (fills_ && dim_of(dim) == NewDim()) named_.emplace_back(dim, NewDim());
            if (dim.has(kValue)) return;
            const auto found = params_.find(before);
            if (found != params_.end()) seen.insert(found->first);
            NewDim now = found != params_.end() ? found->second : in_expression(before);
            if (now.param != before) named_.emplace_back(dim, std::move(now));
        });
        for (const auto& [name, dim] : dims.params) {
            if (!seen.contains(name))
                throw UnknownNames("the model has no dimension " + in_quotes(name));
        }
    }

    // What an expression becomes: unknown, if a name in it is replaced.
    [[nodiscard]] NewDim in_expression(std::string_view text) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i <= text.size(); ++i) {
            if (i < text.size() && is_of_name(text[i])) continue;
            const auto found = params_.find(text.substr(begin, i - begin));
            if (found != params_.end() && found->second.param != found->first) return {};
            begin = i + 1;
        }
        // A name with other characters is no word of it.
        for (const auto& [name, dim] : params_) {
            const bool is_word = std::ranges::all_of(name, is_of_name);
            if (!is_word && dim.param != name && text.find(name) != std::string_view::npos)
                return {};
        }
        return {std::nullopt, std::string(text)};
    }

    // A default of an input keeps its shape, which must fit.
    void check_defaults() {
        const auto fields = document_.index(main_);
        fields->for_each_child(field<"GraphProto.initializer">, [&](const Message& tensor) {
            check_default(tensor.text(field<"TensorProto.name">), tensor,
                          field<"TensorProto.dims">);
        });
        fields->for_each_child(field<"GraphProto.sparse_initializer">, [&](const Message& tensor) {
            const auto values = tensor.child(field<"SparseTensorProto.values">);
            if (values) {
                check_default(values->text(field<"TensorProto.name">), tensor,
                              field<"SparseTensorProto.dims">);
            }
        });
    }

    void check_default(std::string_view name, const Message& tensor, const wire::FieldRow& dims) {
        const auto found = inputs_.find(name);
        if (found == inputs_.end()) return;
        auto& numbers = found->second.numbers;
        if (!numbers) numbers = new_numbers(found->second);
        std::size_t i = 0;
        tensor.for_each_value(dims, [&](const wire::Field& each) {
            const std::size_t axis = i++;
            if (axis >= numbers->size() || !(*numbers)[axis]) return;
            const std::int64_t number = *(*numbers)[axis];
            if (number == each.int64()) return;
            throw std::invalid_argument(text_from(
                {"the input ", Quoted(name), " has a default of ", each.int64(), " in dimension ",
                 axis, ", not ", number, ": replace its initializer before, or remove it"}));
        });
    }

    // For each dimension of an input, the number that it gets and did not have.
    [[nodiscard]] Numbers new_numbers(const Input& input) const {
        const auto dims = dims_of(input.info);
        Numbers numbers(dims ? dims->size() : 0);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const NewDim before = dim_of((*dims)[i]);
            const auto param = params_.find(before.param);
            const NewDim after = !before.value && param != params_.end() ? param->second
                                 : input.shape != nullptr                ? (*input.shape)[i]
                                                                         : before;
            if (after != before) numbers[i] = after.value;
        }
        return numbers;
    }

    // Calls forget(graph, is_stale) for the main graph, and the subgraphs and functions of nodes
    // that depend on changed inputs; is_stale(name) tells the values that do.
    template <class Forget>
    void forget_sizes(Forget&& forget) {
        if (!dependents_) return;
        forget(main_, [&](std::string_view name) {
            return dependents_->has(name) || (rewrites_ && dependents_->places().is_state(name));
        });
        const auto all = [](std::string_view) { return true; };
        for (const Message& body : dependents_->bodies()) forget(body, all);
    }

    template <class IsStale>
    void forget_infos(const Message& graph, IsStale&& is_stale) {
        erase_if(document_, graph, value_infos_of(graph), [&](const Message& info) {
            const auto name = info.text(field<"ValueInfoProto.name">);
            if (!is_stale(name)) return false;
            report_.value_infos.emplace_back(name);
            return true;
        });
    }

    // The numbers in the shapes of outputs, and of inputs of subgraphs.
    template <class IsStale>
    void forget_numbers(const Message& graph, IsStale&& is_stale) const {
        if (is_function(graph)) return;  // its inputs and outputs have no types
        std::vector<Message> stale;
        for (const auto* const list : {&field<"GraphProto.input">, &field<"GraphProto.output">}) {
            if (list == &field<"GraphProto.input"> && graph.is(main_)) continue;
            document_.index(graph)->for_each_child(*list, [&](const Message& value) {
                if (!is_stale(value.text(field<"ValueInfoProto.name">))) return;
                for_each_dim(value, document_.limits().depth, [&](const Message& dim) {
                    if (dim.has(kValue)) stale.push_back(dim);
                });
            });
        }
        for (const Message& dim : stale) model::clear(document_, dim.current(), kValue);
    }

    const model::Document& document_;
    Message main_;
    bool rewrites_;
    std::map<std::string_view, NewDim> params_;
    std::vector<std::pair<Message, NewDim>> named_;   // dimensions with names that are replaced
    std::vector<std::pair<Message, NewDim>> single_;  // of inputs
    bool fills_ = false;                              // whether an unknown size becomes known
    Dependents::InputNames changed_;                  // inputs whose sizes changed
    ChangedSizes sizes_;
    std::map<std::string_view, Input> inputs_;
    std::optional<Dependents> dependents_;  // if inputs changed
    DimReport report_;
};

}  // namespace

DimReport set_dims(const model::Document& document, const NewDims& dims) {
    return run_verb(document, [&] { return SettingDims(document, dims).apply(); });
}

}  // namespace onnxmap::surgery
