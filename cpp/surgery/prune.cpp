#include "surgery/prune.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/training_uses.hpp"
#include "onnx/operators.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/needed.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

class Pruning {
  public:
    explicit Pruning(const model::Document& document)
        : document_(document),
          root_(document.root()),
          functions_(document, Needed::Of::needed_nodes) {}

    Pruned run() {
        const std::uint32_t depth = document_.limits().depth + 1;
        const Message main = model::main_graph_message(document_);
        Needed graph(document_, main, depth, Needed::Of::needed_nodes, may_call_);
        graph.need_outputs();
        std::vector<std::pair<std::string, std::unique_ptr<Needed>>> algorithms;
        read_trainings(main, graph, algorithms, depth);
        graph.find();
        functions_.note(graph);
        for (const auto& [path, each] : algorithms) functions_.note(*each);
        list_body(graph, "graph");
        for (const auto& [path, each] : algorithms) list_body(*each, path);
        list_functions();
        // From here on there are edits.
        for (const Needed* const body : bodies_) prune_body(*body);
        prune_functions();
        prune_imports(root_, field<"ModelProto.opset_import">,
                      [&](std::string_view domain) { return functions_.needs_import(domain); });
        return std::move(pruned_);
    }

  private:
    // Training runs the main graph with an algorithm, and binds values of both.
    void read_trainings(const Message& main, Needed& graph,
                        std::vector<std::pair<std::string, std::unique_ptr<Needed>>>& algorithms,
                        std::uint32_t depth) {
        std::size_t position = 0;
        for (const Message& training : model::training_info_of(document_, main)) {
            const std::string path = "training_info[" + std::to_string(position++) + "].";
            std::vector<std::string_view> bound;
            for (const auto* const list : {&field<"TrainingInfoProto.initialization_binding">,
                                           &field<"TrainingInfoProto.update_binding">}) {
                training.for_each_child(*list, [&](const Message& entry) {
                    bound.push_back(entry.text(field<"StringStringEntryProto.key">));
                    bound.push_back(entry.text(field<"StringStringEntryProto.value">));
                });
            }
            model::CapturedUses none(nullptr);
            model::find_in_training(training, depth, none,
                                    [&](const Message& entry, const wire::FieldRow& text) {
                                        graph.need(entry.text(text));
                                    });
            model::for_each_training_graph(
                training, [&](const Message& found, const wire::FieldRow& row) {
                    auto& [_, needed] = algorithms.emplace_back(
                        path + std::string(row.name),
                        std::make_unique<Needed>(document_, found, depth, Needed::Of::needed_nodes,
                                                 may_call_));
                    needed->need_outputs();
                    for (const std::string_view name : bound) needed->need(name);
                    needed->find();
                    needed->for_each_captured([&](std::string_view name) { graph.need(name); });
                });
        }
    }

    // Lists the bodies that stay, and the nodes of them that go.
    void list_body(const Needed& body, const std::string& path) {
        for (const Needed::Subgraph& each : body.subgraphs()) {
            if (!body.is_node_needed(each.node)) continue;
            const std::string node = path + ".node[" + std::to_string(each.node) + "].attribute";
            list_body(*each.needed,
                      node + model::path_key(node, each.attribute, each.position) + each.field);
        }
        bodies_.push_back(&body);
        for (std::uint64_t node = 0; node < body.node_count(); ++node) {
            if (body.is_node_needed(node)) continue;
            std::string place = path + ".node[" + std::to_string(node) + "]";
            take_text(text_left_, place);
            pruned_.nodes.push_back(std::move(place));
        }
    }

    void list_functions() {
        for (std::size_t i = 0; i < functions_.all().size(); ++i) {
            const CalledFunctions::Function& function = functions_.all()[i];
            if (function.is_called) {
                list_body(*function.needed, "functions[" + std::to_string(i) + "]");
            }
        }
    }

    void prune_body(const Needed& body) {
        std::vector<std::uint64_t> gone;
        for (std::uint64_t node = 0; node < body.node_count(); ++node) {
            if (!body.is_node_needed(node)) gone.push_back(node);
        }
        if (!gone.empty()) {
            model::erase(document_, body.message().current(), model::nodes_of(body.message()),
                         gone);
        }
        const bool is_in_function = is_function(body.message());
        if (!is_in_function) {
            prune_initializers(body);
            erase_if(document_, body.message(), field<"GraphProto.quantization_annotation">,
                     [&](const Message& annotation) {
                         const auto name = annotation.text(field<"TensorAnnotation.tensor_name">);
                         return body.is_own(name) && !body.is_needed(name);
                     });
        }
        erase_if(document_, body.message(), value_infos_of(body.message()),
                 [&](const Message& info) {
                     const std::string_view name = info.text(field<"ValueInfoProto.name">);
                     if (body.is_made(name)) return false;
                     pruned_.value_infos.emplace_back(name);
                     return true;
                 });
    }

    void prune_initializers(const Needed& body) {
        const auto is_gone = [&](std::string_view name) {
            if (body.is_needed(name) || body.is_input(name)) return false;
            pruned_.initializers.emplace_back(name);
            return true;
        };
        erase_if(
            document_, body.message(), field<"GraphProto.initializer">,
            [&](const Message& tensor) { return is_gone(tensor.text(field<"TensorProto.name">)); });
        erase_if(document_, body.message(), field<"GraphProto.sparse_initializer">,
                 [&](const Message& sparse) {
                     const auto values = sparse.child(field<"SparseTensorProto.values">);
                     return is_gone(values ? values->text(field<"TensorProto.name">) : "");
                 });
    }

    void prune_functions() {
        std::vector<std::uint64_t> gone;
        for (std::uint64_t i = 0; i < functions_.all().size(); ++i) {
            const CalledFunctions::Function& function = functions_.all()[i];
            if (!function.is_called) {
                gone.push_back(i);
                pruned_.functions.push_back(function.key);
                continue;
            }
            model::NameTable domains;
            function.needed->for_each_operator(
                [&](std::string_view domain, auto&&...) { domains.add(domain); });
            prune_imports(
                function.needed->message(), field<"FunctionProto.opset_import">,
                [&](std::string_view domain) { return domain.empty() || domains.find(domain); });
        }
        if (!gone.empty()) {
            model::erase(document_, root_.current(), field<"ModelProto.functions">, gone);
        }
    }

    template <class IsNeeded>
    void prune_imports(const Message& importer, const wire::FieldRow& list, IsNeeded&& is_needed) {
        erase_if(document_, importer, list, [&](const Message& import) {
            const auto domain = onnx::plain_domain(import.text(field<"OperatorSetIdProto.domain">));
            if (is_needed(domain)) return false;
            pruned_.opset_imports.emplace_back(domain);
            return true;
        });
    }

    const model::Document& document_;
    Message root_;
    CalledFunctions functions_;
    bool may_call_ = !functions_.all().empty();
    std::vector<const Needed*> bodies_;
    std::uint64_t text_left_ = document_.limits().text_bytes;
    Pruned pruned_;
};

}  // namespace

Pruned prune(const model::Document& document) {
    return run_verb(document, [&] { return Pruning(document).run(); });
}

}  // namespace onnxmap::surgery
