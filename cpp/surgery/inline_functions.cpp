#include "surgery/inline_functions.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/default_graphs.hpp"
#include "model/edit_message.hpp"
#include "model/function_names.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/name_table.hpp"
#include "model/overlap_limit.hpp"
#include "model/training_uses.hpp"
#include "onnx/operators.hpp"
#include "surgery/assembly.hpp"
#include "surgery/bodies.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/inlinable.hpp"
#include "surgery/inlined_body.hpp"
#include "surgery/inlined_size.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

struct Function;

struct Call {
    Message node;
    const Function* function;
};

// Between a graph and one in an attribute of its nodes: node, attribute, graph.
constexpr std::uint32_t kDepthOfSubgraph = 3;
// Of inputs, outputs and attributes of functions, for each call: some 100 bytes for each.
constexpr std::uint64_t kMostNames = 1 << 16;

// A function that is to be inlined.
struct Function {
    Message message;
    std::string key;
    std::vector<Call> calls = {};
    enum class State : std::uint8_t { unread, open, read } state = State::unread;
    std::uint32_t height = 1;  // of the functions that it calls, and of itself
    InlinedSize size = {};     // with the functions that it calls
};

// A graph or function, and how deep it lies in the model.
struct Outermost {
    Message body;
    std::uint32_t depth;
};

// A graph or function, and its nodes that are calls.
struct Caller {
    Message body;
    std::vector<std::pair<std::uint64_t, Message>> calls;  // with their positions
};

class InliningFunctions {
  public:
    InliningFunctions(const model::Document& document,
                      const std::optional<std::vector<std::string>>& names)
        : document_(document), max_depth_(document.limits().depth) {
        choose(names);
        for (Function* const function : in_order_) read(*function);
        begin_plans();
        std::uint64_t nbytes = 0;
        for (Plan& each : plans_) {
            plan(each);
            nbytes = add_sat(nbytes, each.nbytes);
            model::check_overlap(document, {}, nbytes, "the nodes of the functions");
        }
    }

    std::vector<std::string> apply() {
        for (const Plan& each : plans_) apply(each);
        std::vector<std::string> removed;
        erase_if(document_, document_.root(), field<"ModelProto.functions">,
                 [&](const Message& function) {
                     if (!functions_.contains(model::function_identity(function))) return false;
                     removed.push_back(model::function_key(function));
                     return true;
                 });
        return removed;
    }

  private:
    // For the model's graphs, or one function that stays: it has its own names and imports.
    struct Plan {
        std::vector<Outermost> bodies;  // they share their names
        Message importer;
        const wire::FieldRow* imports;
        std::vector<Caller> callers = {};
        std::vector<Message> new_imports = {};
        std::uint64_t nbytes = 0;
    };

    void choose(const std::optional<std::vector<std::string>>& names) {
        model::NameSet unknown;
        if (names) unknown.insert(names->begin(), names->end());
        const model::NameSet wanted = unknown;
        for (const PlacedBody& body : all_functions(document_)) {
            std::string key = model::function_key(body.message);
            const std::string_view name = body.message.text(field<"FunctionProto.name">);
            if (names && !wanted.contains(key) && !wanted.contains(name)) continue;
            unknown.erase(key);
            unknown.erase(name);
            const auto [added, is_new] = functions_.try_emplace(
                model::function_identity(body.message), Function{body.message, key});
            if (!is_new) {
                throw std::invalid_argument("the model has two functions " + in_quotes(key) +
                                            ": remove or rename one");
            }
            in_order_.push_back(&added->second);
        }
        if (!unknown.empty())
            throw UnknownNames("the model has no function " + in_quotes(*unknown.begin()));
    }

    // The function that a node calls, if it is to be inlined.
    Function* called(const Message& node) {
        if (functions_.empty()) return nullptr;
        const auto found = functions_.find(model::function_identity(node));
        return found == functions_.end() ? nullptr : &found->second;
    }

    // Calls visit(body, position, node, function, depth) for each call in a body and its subgraphs,
    // one body after the other: with the depth of the node.
    template <class Visit>
    void for_each_call(const Message& body, std::uint32_t depth, Visit&& visit) {
        if (depth > max_depth_) onnx::fail_too_deep(body);
        const wire::FieldRow& nodes = model::nodes_of(body);
        std::uint64_t position = 0;
        std::vector<Message> graphs;
        document_.index(body)->for_each(nodes, [&](const wire::Field& element) {
            const model::Node node(body, nodes, element);
            const std::uint64_t here = position++;
            Function* const function = called(node.message());
            if (function != nullptr) visit(body, here, node.message(), *function, depth + 1);
            node.for_each_subgraph([&](const Message& graph) {
                if (function != nullptr) check_given(graph, *function, depth + kDepthOfSubgraph);
                graphs.push_back(graph);
            });
        });
        for (const Message& graph : graphs) for_each_call(graph, depth + kDepthOfSubgraph, visit);
    }

    // Functions may have graphs as attributes, in which calls would be put in several times.
    void check_given(const Message& graph, const Function& function, std::uint32_t depth) {
        for_each_call(
            graph, depth, [&](const Message&, auto, const Message&, const Function& inner, auto) {
                throw std::invalid_argument("a node gives the function " + in_quotes(function.key) +
                                            " a graph that calls " + in_quotes(inner.key) +
                                            ": inline that one first, by its name");
            });
    }

    // Finds what a function calls, and how large it is with that.
    void read(Function& function) {
        if (function.state == Function::State::read) return;
        path_.push_back(&function);
        if (std::exchange(function.state, Function::State::open) == Function::State::open)
            fail_cycle(function);
        if (path_.size() > max_depth_ + 1) fail_too_deep();
        const Message& body = function.message;
        check_names(body, max_depth_ + 1);
        model::check_no_default_graphs(document_, body, "inline other functions by their names");
        function.size = size_of(body, max_depth_);
        for_each_call(body, 0,
                      [&](const Message&, std::uint64_t, const Message& node, Function& other,
                          std::uint32_t depth) {
                          read(other);
                          check_call(node, other.key, other.size);
                          function.height = std::max(function.height, other.height + 1);
                          function.calls.push_back({node, &other});
                          function.size.add_call(node, depth, other.size, max_depth_);
                      });
        // Whatever the order in which they were read.
        if (function.height > max_depth_ + 1) fail_too_deep();
        function.state = Function::State::read;
        path_.pop_back();
    }

    // A default stands for an attribute that refers to one without a value. In a function that
    // stays, nobody knows whether its attribute has one.
    void check_defaults(const Message& call, const Function& function,
                        const std::function<bool(std::string_view)>& may_lack_value) {
        model::NameSet lacking;
        for (const model::Attribute& each : model::attributes(call, field<"NodeProto.attribute">)) {
            const std::string_view reference =
                each.message().text(field<"AttributeProto.ref_attr_name">);
            if (!reference.empty() && may_lack_value(reference) &&
                checked_.emplace(&function, each.name()).second)
                lacking.insert(each.name());
        }
        if (lacking.empty()) return;
        const wire::FieldRow& defaults = field<"FunctionProto.attribute_proto">;
        for (const model::Attribute& each : model::attributes(function.message, defaults)) {
            if (!lacking.contains(each.name())) continue;
            throw std::invalid_argument(
                "the function " + in_quotes(function.key) + " has a default for its attribute " +
                in_quotes(each.name()) +
                ", and is called in a function that stays with an attribute that may have no "
                "value: inline that one, too");
        }
        for (const Call& each : function.calls) {
            check_defaults(each.node, *each.function,
                           [&](std::string_view name) { return lacking.contains(name); });
        }
    }

    [[noreturn]] void fail_too_deep() const {
        throw Error("limit.depth", {"functions call each other more than ", max_depth_,
                                    " deep; raise the limit with limits=Limits(depth=...)"});
    }

    [[noreturn]] void fail_cycle(const Function& function) const {
        std::string text;
        const auto begin = std::ranges::find(path_, &function);
        constexpr std::ptrdiff_t kMostInCycle = 10;
        for (auto each = begin; each != path_.end(); ++each) {
            const bool is_left_out = each - begin >= kMostInCycle && std::next(each) != path_.end();
            if (is_left_out && each - begin > kMostInCycle) continue;
            text += (each == begin ? "" : " -> ") + (is_left_out ? "..." : in_quotes((*each)->key));
        }
        throw Error("model.cycle",
                    {"the function ", Quoted(function.key),
                     " calls itself, so its calls cannot be replaced by its nodes: ", text});
    }

    // Training runs the main graph with others, so their names are shared.
    void begin_plans() {
        const Message root = document_.root();
        const Message main = model::main_graph_message(document_);
        Plan graphs{{{main, 1}}, root, &field<"ModelProto.opset_import">};
        for (const Message& training : model::training_info_of(document_, main)) {
            model::for_each_training_graph(training, [&](const Message& graph, auto&&) {
                graphs.bodies.push_back({graph, 2});
            });
        }
        plans_.push_back(std::move(graphs));
        for (const PlacedBody& body : all_functions(document_)) {
            if (functions_.contains(model::function_identity(body.message))) continue;
            Plan stays{{{body.message, 1}}, body.message, &field<"FunctionProto.opset_import">};
            const wire::FieldRow& defaults = field<"FunctionProto.attribute_proto">;
            body.message.for_each_child(defaults, [&](const Message& each) {
                model::Attribute(each).for_each_graph(
                    [&](const Message& graph) { stays.bodies.push_back({graph, 3}); });
            });
            plans_.push_back(std::move(stays));
        }
    }

    void plan(Plan& made) {
        model::NameSet with_default;
        if (made.imports == &field<"FunctionProto.opset_import">) {
            const wire::FieldRow& defaults = field<"FunctionProto.attribute_proto">;
            for (const model::Attribute& each : model::attributes(made.importer, defaults))
                with_default.insert(each.name());
        }
        checked_.clear();
        std::unordered_set<const Function*> reached;
        std::vector<const Function*> waiting;
        const auto reach = [&](const Function* function) {
            if (reached.insert(function).second) waiting.push_back(function);
        };
        for (const Outermost& outermost : made.bodies) {
            for_each_call(
                outermost.body, outermost.depth,
                [&](const Message& body, std::uint64_t position, const Message& node,
                    Function& function, std::uint32_t depth) {
                    check_call(node, function.key, function.size);
                    static_cast<void>(function.size.depth_of(node, depth, max_depth_));
                    check_defaults(node, function, [&](std::string_view name) {
                        return !with_default.contains(name);
                    });
                    reach(&function);
                    if (made.callers.empty() || made.callers.back().body.key() != body.key())
                        made.callers.push_back({body, {}});
                    made.callers.back().calls.emplace_back(position, node);
                    made.nbytes = add_sat(made.nbytes, function.size.nbytes_of(node));
                });
        }
        Versions versions = imported_versions(made.importer, *made.imports);
        while (!waiting.empty()) {
            const Function& function = *waiting.back();
            waiting.pop_back();
            for (const Call& each : function.calls) reach(each.function);
            const wire::FieldRow& imports = field<"FunctionProto.opset_import">;
            function.message.for_each_child(imports, [&](const Message& import) {
                const auto domain =
                    onnx::plain_domain(import.text(field<"OperatorSetIdProto.domain">));
                const std::int64_t version = import.int64(field<"OperatorSetIdProto.version">);
                const auto [known, is_new] = versions.emplace(domain, version);
                if (is_new) made.new_imports.push_back(import);
                if (known->second != version) contradict(function, domain, known->second, version);
            });
        }
    }

    [[noreturn]] static void contradict(const Function& function, std::string_view domain,
                                        std::int64_t around, std::int64_t inside) {
        throw std::invalid_argument(text_from(
            {"the function ", Quoted(function.key), " imports version ", inside, " of the domain ",
             Quoted(domain), ", but what calls it imports ", around,
             (domain.empty() ? ": call convert_version() before, or inline other functions by names"
                             : ": their nodes must be written for one version")}));
    }

    void apply(const Plan& made) {
        if (made.callers.empty()) return;
        Inlining shared{document_, [this](const Message& node) -> const Message* {
                            const Function* const function = called(node);
                            return function == nullptr ? nullptr : &function->message;
                        }};
        for (const Outermost& each : made.bodies) note_names(shared.names, each.body);
        for (const Caller& caller : made.callers) apply(caller, shared);
        std::vector<model::Insertion> imports;
        imports.reserve(made.new_imports.size());
        for (const Message& import : made.new_imports)
            imports.push_back({UINT64_MAX, {document_, import}});
        if (!imports.empty()) {
            model::splice_messages(document_, made.importer.current(), *made.imports, imports, {});
        }
    }

    // Some calls at a time: what is known of each takes more memory than what it makes.
    void apply(const Caller& caller, Inlining& shared) {
        const wire::FieldRow& nodes = model::nodes_of(caller.body);
        const InlinedCalls outermost(shared);
        std::uint64_t moved = 0;  // how many nodes were added, less those that went
        for (auto next = caller.calls.begin(); next != caller.calls.end();) {
            std::vector<model::Insertion> added;
            std::vector<model::Insertion> infos;
            std::vector<std::uint64_t> gone;
            while (next != caller.calls.end() && shared.name_count < kMostNames) {
                const auto& [position, node] = *next++;
                const std::uint64_t place = position + moved;
                outermost.add_called(node, called(node)->message, nodes,
                                     [&](const wire::FieldRow& row, const Message& original,
                                         const model::Rewrite& rewrite) {
                                         auto& list = &row == &nodes ? added : infos;
                                         const std::uint64_t i =
                                             &row == &nodes ? place : UINT64_MAX;
                                         list.push_back({i, {document_, original}, &rewrite});
                                     });
                gone.push_back(place);
            }
            model::splice_messages(document_, caller.body.current(), nodes, added, gone);
            if (!infos.empty()) {
                model::splice_messages(document_, caller.body.current(),
                                       value_infos_of(caller.body), infos, {});
            }
            moved += added.size() - gone.size();
            shared.forget_bodies();
        }
    }

    // All names of values and nodes in a body and its subgraphs.
    void note_names(UnusedNames& names, const Message& body) const {
        const auto note = [&](std::string_view name) { names.note(name); };
        model::for_each_made(body, [&](std::string_view name, const Message&) { note(name); });
        model::CapturedUses uses(
            [&](std::string_view name, const Message&, std::uint32_t) { note(name); }, note);
        const wire::FieldRow& nodes = model::nodes_of(body);
        document_.index(body)->for_each(nodes, [&](const wire::Field& each) {
            uses.find_in_node(model::Node(body, nodes, each), max_depth_ + 1);
        });
        model::for_each_node(body, max_depth_ + 1, [&](const std::string&, const Message& node) {
            note(node.text(field<"NodeProto.name">));
        });
    }

    const model::Document& document_;
    std::uint32_t max_depth_;
    model::TextMap<Function> functions_;  // by their identities
    std::vector<Function*> in_order_;     // as the model has them
    std::vector<const Function*> path_;   // of functions that are read
    std::vector<Plan> plans_;
    // Attributes that may have no value, and whose default was looked for.
    std::set<std::pair<const Function*, std::string_view>> checked_;
};

}  // namespace

std::vector<std::string> inline_functions(const model::Document& document,
                                          const std::optional<std::vector<std::string>>& names) {
    return run_verb(document, [&] { return InliningFunctions(document, names).apply(); });
}

}  // namespace onnxmap::surgery
