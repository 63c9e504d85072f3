#include "surgery/rewiring.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/default_graphs.hpp"
#include "model/edit_message.hpp"
#include "model/message_list.hpp"
#include "model/named_list.hpp"
#include "model/training_uses.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using model::UserOfValue;
using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kAnnotated = field<"TensorAnnotation.tensor_name">;

[[noreturn]] void refuse(std::string_view value, const std::string& reason) {
    throw std::invalid_argument(in_quotes(value) + " " + reason);
}

[[noreturn]] void refuse_hidden(std::string_view value, std::string_view used) {
    refuse(value, "is also a value of a subgraph that uses " + in_quotes(used) +
                      ", where it would be hidden; rename that of the subgraph before");
}

// Whether it is the graph of the model, not a subgraph, a function or a graph alone.
bool is_main_graph(const model::NodeValues& body) {
    const model::Document& document = body.document();
    if (!document.is_model()) return false;
    const auto main = document.child(document.root(), field<"ModelProto.graph">);
    return main && main->is(body.fields()->message());
}

// Whether a value is an output of the graph or function.
bool has_output(const model::NodeValues& body, std::string_view value) {
    const Message& message = body.fields()->message();
    bool found = false;
    if (is_function(message)) {
        body.fields()->for_each(field<"FunctionProto.output">, [&](const wire::Field& each) {
            found = found || each.text() == value;
        });
        return found;
    }
    return model::MessageList(body.fields(), field<"GraphProto.output">)
        .contains(body.document(), value);
}

// Whether the graph has an annotation of a value in its own list.
bool has_annotation(const model::NodeValues& graph, std::string_view value) {
    return !is_function(graph.fields()->message()) &&
           model::NamedList(graph.document(), *graph.fields(),
                            field<"GraphProto.quantization_annotation">,
                            field<"TensorAnnotation.tensor_name">)
                   .count(value) != 0;
}

void forget_in(const model::Document& document, const Message& body, const wire::FieldRow& list,
               const wire::FieldRow& name, std::string_view value) {
    const auto fields = document.index(body);
    const auto positions = model::NamedList(document, *fields, list, name).positions(value);
    if (!positions.empty()) model::erase(document, fields->message(), list, positions);
}

// Removes what a graph or function says of a value in its list of inner values.
void forget_value_info(const model::Document& document, const Message& body,
                       std::string_view value) {
    const Message now = body.current();
    forget_in(document, now, value_infos_of(now), field<"ValueInfoProto.name">, value);
}

// Removes the annotations of a value from the graph's own list. A function has none.
void forget_annotations(const model::Document& document, const Message& body,
                        std::string_view value) {
    if (is_function(body)) return;
    forget_in(document, body.current(), field<"GraphProto.quantization_annotation">,
              field<"TensorAnnotation.tensor_name">, value);
}

// Removes both.
void forget_value(const model::Document& document, const Message& body, std::string_view value) {
    forget_value_info(document, body, value);
    forget_annotations(document, body, value);
}

[[nodiscard]] bool is_annotation(const Message& holder) {
    return &holder.table() == &onnx::message<"TensorAnnotation">;
}

// Finds what mentions values in the annotations of a body, and in training. Calls
// annotated(name, holder, of) for an annotation or a parameter of one, which is of the value `of`;
// used(name, user, index) and bound(name, entry) for what training does.
template <class Annotated, class Used, class Bound>
void find_beside_nodes(const model::NodeValues& body, Annotated&& annotated, Used&& used,
                       Bound&& bound) {
    const Message& message = body.fields()->message();
    if (is_function(message)) return;
    const wire::FieldRow& list = field<"GraphProto.quantization_annotation">;
    body.fields()->for_each_child(list, [&](const Message& annotation) {
        const std::string_view of = annotation.text(kAnnotated);
        annotated(of, annotation, of);
        const wire::FieldRow& row = field<"TensorAnnotation.quant_parameter_tensor_names">;
        annotation.for_each_child(row, [&](const Message& entry) {
            annotated(entry.text(field<"StringStringEntryProto.value">), entry, of);
        });
    });
    model::CapturedUses uses(used);
    model::find_in_trainings(body.document(), message, uses,
                             [&](const Message& entry, const wire::FieldRow& row) {
                                 // The key is the initializer that gets a value: no use of the one
                                 // that it has.
                                 if (&row == &field<"StringStringEntryProto.value">)
                                     bound(entry.text(row), entry);
                             });
}

// All that mentions a value, but for what makes it.
class Uses {
  public:
    /// `own_annotations`: also those of the value in the list of the body, with what they mention.
    Uses(const model::NodeValues& body, std::string_view value, bool own_annotations = true)
        : document_(body.document()),
          body_(body.fields()->message()),
          value_(value),
          users_(body.users(value)),
          annotated_(document_.followed_uses(body_)->annotations(value)) {
        find_beside_nodes(
            body,
            [&](std::string_view name, const Message& holder, std::string_view of) {
                if (name == value && (own_annotations || of != value)) annotated_.push_back(holder);
            },
            [&](std::string_view name, const Message& user, std::uint32_t index) {
                if (name == value_) users_.push_back({user, index});
            },
            [&](std::string_view name, const Message& entry) {
                if (name == value_) bindings_.push_back(entry);
            });
    }

    /// Leaves out the uses by a node and its subgraphs.
    void leave_out(const std::uint8_t* holder) {
        std::erase_if(users_, [&](const UserOfValue& user) {
            return user.holder != nullptr && user.holder == holder;
        });
    }
    /// Leaves out the uses as output of the body, and in bindings.
    void leave_out_outputs() {
        std::erase_if(users_, [&](const UserOfValue& user) { return is_output(user); });
        bindings_.clear();
    }

    [[nodiscard]] bool is_output() const {
        return std::ranges::any_of(users_,
                                   [&](const UserOfValue& user) { return is_output(user); });
    }
    [[nodiscard]] bool is_used() const {
        return !users_.empty() || !bindings_.empty() ||
               !std::ranges::all_of(annotated_, is_annotation);
    }
    [[nodiscard]] const std::vector<UserOfValue>& users() const noexcept { return users_; }

    /// Whether a subgraph has uses.
    [[nodiscard]] bool are_inside() const {
        return std::ranges::any_of(users_, [&](const UserOfValue& user) {
            return user.holder != user.message.key() && !is_output(user);
        });
    }

    /// Lets all of them mention another value. `described`: also the annotations of the value.
    void mention(std::string_view name, bool described) const {
        std::vector<NewUse> uses;
        uses.reserve(users_.size());
        for (const UserOfValue& user : users_) uses.push_back({user, value_, name});
        use_instead(document_, uses);
        const auto set = [&](const Message& holder, const wire::FieldRow& row) {
            model::set_value(document_, holder.current(), row, model::text_value(row, name));
        };
        for (const Message& entry : bindings_) set(entry, field<"StringStringEntryProto.value">);
        for (const Message& each : annotated_) {
            if (!is_annotation(each)) set(each, field<"StringStringEntryProto.value">);
            if (is_annotation(each) && described) set(each, kAnnotated);
        }
    }

  private:
    [[nodiscard]] bool is_output(const UserOfValue& user) const {
        return user.message.key() == body_.key();
    }

    const model::Document& document_;
    Message body_;
    std::string_view value_;
    std::vector<UserOfValue> users_;
    std::vector<Message> bindings_;
    std::vector<Message> annotated_;
};

// The first of these values that something uses, in one walk for all of them.
std::optional<std::string_view> first_used(const model::NodeValues& body,
                                           std::span<const std::string> values) {
    const auto followed = body.document().followed_uses(body.fields()->message());
    model::NameSet used;
    find_beside_nodes(
        body,
        [&](std::string_view name, const Message& holder, auto&&) {
            if (!is_annotation(holder)) used.insert(name);
        },
        [&](std::string_view name, auto&&...) { used.insert(name); },
        [&](std::string_view name, auto&&...) { used.insert(name); });
    const auto found = std::ranges::find_if(values, [&](std::string_view value) {
        return !value.empty() &&
               (used.contains(value) || !body.users(value).empty() ||
                !std::ranges::all_of(followed->annotations(value), is_annotation));
    });
    return found == values.end() ? std::nullopt : std::optional<std::string_view>(*found);
}

// A node that is to use a value comes after the place of the node that makes it.
void check_place(const model::FieldIndex& fields, const std::uint8_t* user, std::uint64_t place,
                 std::string_view made) {
    const auto at = fields.ordinal(model::nodes_of(fields.message()), user);
    if (!at || *at >= place) return;
    refuse(made, "is made by node " + std::to_string(place) + ", after node " +
                     std::to_string(*at) + ", which would use it");
}

// The uses of a value come after the node that makes another one: in the list of the body, or in
// that of a graph around it, whose node that holds the body uses the value then.
void check_order(const model::NodeValues& body, const Uses& uses,
                 const std::optional<Message>& maker, std::string_view made) {
    if (!maker || uses.users().empty()) return;
    const std::uint8_t* user = uses.users().front().holder;  // null: an output, or in training
    auto fields = body.fields();
    while (!fields->ordinal(model::nodes_of(fields->message()), maker->key())) {
        const auto outer = body.document().outer_scope(fields->message());
        if (!outer) return;
        user = outer->holder ? outer->holder->key() : nullptr;
        fields = body.document().index(outer->body);
    }
    if (user == nullptr) return;
    if (user == maker->key()) refuse(made, "is made by the node that holds this graph");
    check_place(*fields, user, *fields->ordinal(model::nodes_of(fields->message()), maker->key()),
                made);
}

// An output of the main graph has a known type.
void check_described(const model::NodeValues& body, std::string_view value) {
    if (!is_main_graph(body) || is_described(body, value)) return;
    refuse(value,
           "has no known type and rank, which an output of the main graph needs: call "
           "infer_shapes() before, or " +
               std::string(kToState));
}

// Whether a node of the body, not of a graph around it, makes a value.
bool is_made_here(const model::NodeValues& body, const std::optional<Message>& maker) {
    return maker && body.fields()->ordinal(model::nodes_of(body.fields()->message()), maker->key());
}

// Whether a value may be an output in the place of another one. A subgraph returns no value of a
// graph around it, and a function none of its inputs: ONNX Runtime refuses such models.
void check_new_output(const model::NodeValues& body, bool is_own, std::string_view value,
                      std::string_view old) {
    if (has_output(body, value)) {
        refuse(value, "is an output already, and " + in_quotes(old) + " is another one");
    }
    if (!is_own) {
        refuse(value, "cannot be an output in the place of " + in_quotes(old) +
                          ": no node here makes it; add an Identity node instead");
    }
    check_described(body, value);
}

void replace_uses_below_guard(const model::NodeValues& body, std::string_view old,
                              std::string_view replacement, bool outputs,
                              std::optional<std::uint64_t> new_place) {
    const model::Document& document = body.document();
    const Message& message = body.fields()->message();
    if (old == replacement) return;
    if (replacement.empty()) throw std::invalid_argument("a value needs a name");
    if (!new_place && !body.makes(replacement) && !body.is_made_around(replacement)) {
        refuse(replacement, "is not a value that is visible here");
    }
    model::check_no_default_graphs(document, message, model::kRemoveDefault);
    Uses uses(body, old);
    const auto maker = body.producer(replacement);
    if (maker) uses.leave_out(maker->key());
    if (!outputs) uses.leave_out_outputs();
    if (new_place && !uses.users().empty()) {
        check_place(*body.fields(), uses.users().front().holder, *new_place, replacement);
    }
    check_order(body, uses, maker, replacement);
    if (uses.are_inside() && body.is_made_inside(replacement)) refuse_hidden(replacement, old);
    const bool becomes_output = uses.is_output();
    if (becomes_output) {
        const bool is_made =
            is_function(message) ? is_made_here(body, maker) : body.makes(replacement);
        check_new_output(body, new_place || is_made, replacement, old);
    }
    if (new_place) return;
    const bool has_type = becomes_output && !is_function(message);
    const KnownType known = has_type ? known_type(body, replacement) : KnownType{};
    bool keeps_type =
        has_type && body.producer(old) &&
        !model::MessageList(body.fields(), field<"GraphProto.value_info">).contains(document, old);
    for (const UserOfValue& user : uses.users()) {
        if (!has_type || user.message.key() != message.key()) continue;
        // The output is another value then, and may have another type. The old one keeps its own.
        const Message output = output_at(document, message.current(), user.index);
        if (std::exchange(keeps_type, false) && output.has(field<"ValueInfoProto.type">)) {
            model::insert(document, message.current(), field<"GraphProto.value_info">, UINT64_MAX,
                          model::Original{document, output});
        }
        set_type(document, output.current(), known);
    }
    uses.mention(replacement, false);
    if (has_type) forget_value_info(document, message, replacement);
}

// Gives the first input of a node the name of the node's output, which is an output of the graph.
void move_name(const model::NodeValues& body, const Message& node, const std::string& output,
               const std::string& input) {
    const model::Document& document = body.document();
    const auto maker = body.producer(input);
    if (!is_made_here(body, maker)) {
        refuse(output, "is an output, and " + in_quotes(input) +
                           " cannot be: no node here makes it; add an Identity node instead");
    }
    // If both have an annotation here, that of the output stays.
    const bool is_annotated = has_annotation(body, output);
    Uses others(body, input, !is_annotated);
    if (others.is_output()) {
        refuse(output, "is an output, and " + in_quotes(input) + " is another one");
    }
    others.leave_out(node.key());
    // From the node that makes the input on, all subgraphs see the name.
    if (body.is_made_inside(output)) {
        refuse(output,
               "is an output, and also a value of a subgraph, which would see both; rename that "
               "of the subgraph before");
    }
    others.mention(output, true);
    if (is_annotated) forget_annotations(document, body.fields()->message(), input);
    std::uint32_t index = 0;
    std::vector<model::NewText> texts;
    const Message makes = maker->current();
    model::Node(makes).for_each_output([&](std::string_view name) {
        if (name == input) texts.push_back({index, output});
        ++index;
    });
    model::set_texts(document, makes, field<"NodeProto.output">, texts);
    rename_shards(document, makes.current(), {{input, output}});
}

void bypass_below_guard(const model::NodeValues& body, const Message& node) {
    const model::Document& document = body.document();
    const Message& message = body.fields()->message();
    const wire::FieldRow& nodes = model::nodes_of(message);
    const auto place = body.fields()->ordinal(nodes, node.key());
    if (!place) throw std::invalid_argument("the node is not in this graph or function");
    model::check_no_default_graphs(document, message, model::kRemoveDefault);
    std::optional<std::string> input;
    model::Node(node).for_each_input([&](std::string_view name) {
        if (!input) input = name;
    });
    std::vector<std::string> outputs;
    model::Node(node).for_each_output([&](std::string_view name) { outputs.emplace_back(name); });
    const auto remove = [&](std::string_view gone) {
        model::erase(document, message.current(), nodes, std::array{*place});
        if (!gone.empty()) forget_value(document, message, gone);
        for (std::size_t i = 1; i < outputs.size(); ++i)
            forget_value(document, message, outputs[i]);
    };
    if (outputs.size() > 1) {
        const auto used = first_used(body, std::span(outputs).subspan(1));
        if (used) refuse(*used, "is another output of the node, and is used");
    }
    const std::string output = outputs.empty() ? "" : outputs.front();
    Uses uses(body, output);
    if (output.empty() || !uses.is_used()) {
        remove(output);
        return;
    }
    static_cast<void>(body.producer(output));  // which is one
    if (!input || input->empty()) throw std::invalid_argument("the node has no first input");
    if (*input == output) refuse(output, "is an input of its own node");
    if (!uses.is_output()) {
        if (uses.are_inside() && body.is_made_inside(*input)) refuse_hidden(*input, output);
        uses.mention(*input, false);
        remove(output);
        return;
    }
    move_name(body, node, output, *input);  // the output keeps its name
    remove("");
    forget_value_info(document, message, *input);
}

void add_output_below_guard(const model::Graph& graph, std::string_view value) {
    const model::Document& document = graph.document();
    const Message& message = graph.fields()->message();
    if (value.empty() || !graph.makes(value)) refuse(value, "is not a value of the graph");
    if (has_output(graph, value)) refuse(value, "is an output already");
    check_described(graph, value);
    add_value(document, message, field<"GraphProto.output">, graph, value);
    forget_value_info(document, message, value);
}

template <class Work>
void edit_body(const model::NodeValues& body, Work&& work) {
    run_verb(body.document(), body.fields()->message(), std::forward<Work>(work));
}

}  // namespace

void replace_uses(const model::NodeValues& body, std::string_view old, std::string_view replacement,
                  bool outputs, std::optional<std::uint64_t> new_place) {
    edit_body(body, [&] { replace_uses_below_guard(body, old, replacement, outputs, new_place); });
}

void bypass(const model::NodeValues& body, const Message& node) {
    edit_body(body, [&] { bypass_below_guard(body, node); });
}

void add_output(const model::Graph& graph, std::string_view value) {
    edit_body(graph, [&] { add_output_below_guard(graph, value); });
}

}  // namespace onnxmap::surgery
