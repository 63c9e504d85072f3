#include "surgery/prune.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "model/captured_values.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/training_uses.hpp"
#include "onnx/operators.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/needed.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
    std::string key(onnx::plain_domain(domain));
    key += "::";
    key += name;
    if (!overload.empty()) key += ":" + std::string(overload);
    return key;
}

// A function, and whether something calls it.
struct FunctionUse {
    std::unique_ptr<Needed> needed;
    std::string key;
    bool is_called = false;
};

class Pruning {
  public:
    explicit Pruning(const model::Document& document)
        : document_(document), root_(document.root()) {}

    Pruned run() {
        const std::uint32_t depth = document_.limits().depth + 1;
        read_functions(depth);
        const Message main = model::main_graph_message(document_);
        Needed graph(document_, main, depth);
        graph.need_outputs();
        std::vector<std::pair<std::string, std::unique_ptr<Needed>>> algorithms;
        read_trainings(main, graph, algorithms, depth);
        graph.find();
        note_operators(graph, domains_);
        for (const auto& [path, each] : algorithms) note_operators(*each, domains_);
        while (!to_visit_.empty()) {
            const std::size_t i = to_visit_.back();
            to_visit_.pop_back();
            domains_.add(functions_[i].needed->message().text(field<"FunctionProto.domain">));
            model::NameTable ignored;
            note_operators(*functions_[i].needed, ignored);
        }
        // From here on there are edits.
        prune_body(graph, "graph");
        for (const auto& [path, each] : algorithms) prune_body(*each, path);
        prune_functions();
        prune_imports(root_, field<"ModelProto.opset_import">, domains_);
        return std::move(pruned_);
    }

  private:
    void read_functions(std::uint32_t depth) {
        const wire::FieldRow& list = field<"ModelProto.functions">;
        document_.index(root_)->for_each(list, [&](const wire::Field& element) {
            const Message function = root_.inner(list, element);
            auto needed = std::make_unique<Needed>(document_, function, depth);
            needed->need_outputs();
            needed->find();
            std::string key = function_key(function.text(field<"FunctionProto.domain">),
                                           function.text(field<"FunctionProto.name">),
                                           function.text(field<"FunctionProto.overload">));
            by_key_.add(key);  // of several with one key, all are called
            functions_.push_back({std::move(needed), std::move(key)});
        });
        of_key_.resize(by_key_.size());
        for (std::size_t i = 0; i < functions_.size(); ++i)
            of_key_[*by_key_.find(functions_[i].key)].push_back(i);
    }

    // Training runs the main graph with an algorithm, and binds values of both.
    void read_trainings(const Message& main, Needed& graph,
                        std::vector<std::pair<std::string, std::unique_ptr<Needed>>>& algorithms,
                        std::uint32_t depth) {
        std::size_t position = 0;
        for (const Message& training : model::training_info_of(document_, main)) {
            const std::string path = "training_info[" + std::to_string(position++) + "].";
            for (const auto* const row : {&field<"TrainingInfoProto.initialization">,
                                          &field<"TrainingInfoProto.algorithm">}) {
                const auto found = training.child(*row);
                if (!found) continue;
                auto& [_, needed] = algorithms.emplace_back(
                    path + std::string(row->name),
                    std::make_unique<Needed>(document_, *found, depth));
                needed->need_outputs();
                model::CapturedUses none([](auto...) {});
                model::find_in_training(training, depth, none,
                                        [&](const Message& entry, const wire::FieldRow& text) {
                                            graph.need(entry.text(text));
                                        });
                for (const auto* const list :
                     {&field<"TrainingInfoProto.initialization_binding">,
                      &field<"TrainingInfoProto.update_binding">}) {
                    training.for_each_value(*list, [&](const wire::Field& each) {
                        const Message entry = training.inner(*list, each);
                        needed->need(entry.text(field<"StringStringEntryProto.key">));
                        needed->need(entry.text(field<"StringStringEntryProto.value">));
                    });
                }
                needed->find();
                needed->for_each_captured([&](std::string_view name) { graph.need(name); });
            }
        }
    }

    void note_operators(const Needed& body, model::NameTable& domains) {
        body.for_each_operator([&](std::string_view domain, std::string_view op_type,
                                   std::string_view overload) {
            domains.add(domain);
            if (functions_.empty()) return;
            const auto known = by_key_.find(function_key(domain, op_type, overload));
            if (!known) return;
            for (const std::size_t i : of_key_[*known]) {
                if (std::exchange(functions_[i].is_called, true)) continue;
                to_visit_.push_back(i);
            }
        });
    }

    // Erases the messages of a list for which is_gone(message) says so, and returns it.
    template <class IsGone>
    void erase_if(const Needed& body, const wire::FieldRow& list, IsGone&& is_gone) {
        std::vector<std::uint64_t> gone;
        std::uint64_t position = 0;
        body.fields().for_each(list, [&](const wire::Field& each) {
            if (is_gone(body.message().inner(list, each))) gone.push_back(position);
            ++position;
        });
        if (!gone.empty()) model::erase(document_, body.message().current(), list, gone);
    }

    void prune_body(const Needed& body, const std::string& path) {
        for (const Needed::Subgraph& each : body.subgraphs()) {
            if (!body.is_node_needed(each.node)) continue;
            prune_body(*each.needed,
                       path + ".node[" + std::to_string(each.node) + "]." + each.path);
        }
        std::vector<std::uint64_t> gone;
        for (std::uint64_t node = 0; node < body.node_count(); ++node) {
            if (body.is_node_needed(node)) continue;
            gone.push_back(node);
            pruned_.nodes.push_back(path + ".node[" + std::to_string(node) + "]");
        }
        if (!gone.empty()) {
            model::erase(document_, body.message().current(), model::nodes_of(body.message()),
                         gone);
        }
        const bool is_in_function = is_function(body.message());
        if (!is_in_function) {
            prune_initializers(body);
            erase_if(body, field<"GraphProto.quantization_annotation">,
                     [&](const Message& annotation) {
                         const auto name = annotation.text(field<"TensorAnnotation.tensor_name">);
                         return body.is_own(name) && !body.is_needed(name);
                     });
        }
        erase_if(body,
                 is_in_function ? field<"FunctionProto.value_info">
                                : field<"GraphProto.value_info">,
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
        erase_if(body, field<"GraphProto.initializer">, [&](const Message& tensor) {
            return is_gone(tensor.text(field<"TensorProto.name">));
        });
        erase_if(body, field<"GraphProto.sparse_initializer">, [&](const Message& sparse) {
            const auto values = sparse.child(field<"SparseTensorProto.values">);
            return is_gone(values ? values->text(field<"TensorProto.name">) : "");
        });
    }

    void prune_functions() {
        std::vector<std::uint64_t> gone;
        for (std::uint64_t i = 0; i < functions_.size(); ++i) {
            const FunctionUse& function = functions_[i];
            if (!function.is_called) {
                gone.push_back(i);
                pruned_.functions.push_back(function.key);
                continue;
            }
            prune_body(*function.needed, "functions[" + std::to_string(i) + "]");
            model::NameTable domains;
            function.needed->for_each_operator(
                [&](std::string_view domain, auto&&...) { domains.add(domain); });
            prune_imports(function.needed->message(), field<"FunctionProto.opset_import">, domains);
        }
        if (!gone.empty()) {
            model::erase(document_, root_.current(), field<"ModelProto.functions">, gone);
        }
    }

    void prune_imports(const Message& importer, const wire::FieldRow& list,
                       const model::NameTable& used) {
        const Message now = importer.current();
        std::vector<std::uint64_t> gone;
        std::uint64_t position = 0;
        now.for_each_value(list, [&](const wire::Field& each) {
            const auto domain = onnx::plain_domain(
                now.inner(list, each).text(field<"OperatorSetIdProto.domain">));
            if (!domain.empty() && !used.find(domain)) {
                gone.push_back(position);
                pruned_.opset_imports.emplace_back(domain);
            }
            ++position;
        });
        if (!gone.empty()) model::erase(document_, now, list, gone);
    }

    const model::Document& document_;
    Message root_;
    std::vector<FunctionUse> functions_;
    model::NameTable by_key_{model::NameTable::Text::copied};
    std::vector<std::vector<std::size_t>> of_key_;
    std::vector<std::size_t> to_visit_;
    model::NameTable domains_;  // of the operators that the model uses
    Pruned pruned_;
};

}  // namespace

Pruned prune(const model::Document& document) {
    model::check_editable(document, document.root());
    return Pruning(document).run();
}

}  // namespace onnxmap::surgery
