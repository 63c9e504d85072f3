#include "surgery/extract.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/graph.hpp"
#include "model/name_table.hpp"
#include "surgery/assembly.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/needed.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

// A node makes other values.
struct RenamedOutputs : model::Rewrite {
    model::NameMap<std::string> names;

    [[nodiscard]] std::optional<std::string> text(const wire::FieldRow& /*holder*/,
                                                  const wire::FieldRow& row,
                                                  std::string_view text) const override {
        if (&row != &field<"NodeProto.output"> && &row != &field<"ShardingSpecProto.tensor_name">)
            return std::nullopt;
        const auto found = names.find(text);
        return found == names.end() ? std::nullopt : std::optional(found->second);
    }
};

class Extraction {
  public:
    Extraction(const std::shared_ptr<const model::Document>& document,
               const std::vector<std::string>& inputs, const std::vector<std::string>& outputs)
        : document_(*document),
          main_(model::main_graph_message(document_)),
          graph_(document, main_),
          inputs_(inputs),
          outputs_(outputs),
          given_(inputs.begin(), inputs.end()),
          made_(outputs.begin(), outputs.end()),
          functions_(document_, Needed::Of::all_nodes),
          needed_(document_, main_, document_.limits().depth + 1, Needed::Of::all_nodes,
                  !functions_.all().empty()) {}

    std::shared_ptr<const model::Document> run() {
        check_names();
        for (const std::string& name : inputs_) needed_.give(name);
        for (const std::string& name : outputs_) needed_.need(name);
        needed_.find();
        check_inputs();
        read_subgraphs();
        functions_.note(needed_);
        auto made = empty_model(document_);
        add_root(*made);
        add_graph(*made);
        return made;
    }

  private:
    void check_names() const {
        for (const auto* const names : {&inputs_, &outputs_}) {
            model::NameSet seen;
            for (const std::string& name : *names) {
                if (!seen.insert(name).second)
                    throw std::invalid_argument(in_quotes(name) + " is given twice");
            }
        }
        if (outputs_.empty()) throw std::invalid_argument("a model needs an output");
        std::vector<std::string_view> unknown;
        std::vector<std::string_view> untyped;
        for (const auto* const names : {&inputs_, &outputs_}) {
            for (const std::string& name : *names) {
                if (name.empty() || !needed_.is_own(name)) {
                    unknown.push_back(name);
                } else if (!is_described(graph_, name)) {
                    untyped.push_back(name);
                }
            }
        }
        if (!unknown.empty()) throw UnknownNames("the graph has no value " + listed(unknown));
        if (!untyped.empty()) {
            throw Error("edit.untyped",
                        {"inputs and outputs need a type and a rank, which nothing tells of ",
                         listed(untyped), ": ", kToState});
        }
    }

    // Inputs of the graph that are needed are to be given, or have a default.
    void check_inputs() {
        const bool stay =
            document_.root().int64(field<"ModelProto.ir_version">) < kFirstWithFreeInitializers;
        std::vector<std::string_view> missing;
        const auto has_default = [&](std::string_view name) {
            return graph_.initializers().contains(name) ||
                   graph_.sparse_initializer_names().contains(name);
        };
        graph_.fields()->for_each_child(field<"GraphProto.input">, [&](const Message& each) {
            const auto name = each.text(field<"ValueInfoProto.name">);
            if (!needed_.is_needed(name) || given_.contains(name)) return;
            if (!has_default(name)) missing.push_back(name);
            if (stay) defaults_.push_back(name);
        });
        if (!missing.empty()) {
            throw std::invalid_argument("the outputs need more inputs: " + listed(missing));
        }
    }

    // Subgraphs see a given value, so none that is kept may make one of that name.
    void read_subgraphs() {
        model::CapturedUses uses({}, [&](std::string_view name) { made_inside_.insert(name); });
        for (const Needed::Subgraph& each : needed_.subgraphs()) {
            if (needed_.is_node_needed(each.node))
                uses.find_in_subgraph(each.needed->message(), document_.limits().depth + 1);
        }
        for (const std::string& name : inputs_) {
            if (made_inside_.contains(name)) {
                throw std::invalid_argument("a subgraph has a value " + in_quotes(name) +
                                            " of its own: rename it before");
            }
        }
    }

    void add_root(const model::Document& made) const {
        const Message root = document_.root();
        Assembly fields(made, root.table());
        fields.add({document_, root}, [&](const wire::FieldRow& row, std::uint64_t i,
                                          const wire::Field& element) {
            if (&row == &field<"ModelProto.functions">) return functions_.all()[i].is_called;
            if (&row == &field<"ModelProto.opset_import">) {
                return functions_.needs_import(
                    root.inner(row, element).text(field<"OperatorSetIdProto.domain">));
            }
            return &row != &field<"ModelProto.graph"> && &row != &field<"ModelProto.training_info">;
        });
        std::move(fields).finish(made.root());
    }

    void add_graph(const model::Document& made) const {
        const wire::FieldRow& inputs = field<"GraphProto.input">;
        const wire::FieldRow& outputs = field<"GraphProto.output">;
        const Message graph = model::make_present(made, made.root(), field<"ModelProto.graph">);
        Assembly fields(made, graph.table());
        // Outputs of the node that is copied: it may be needed for others than those given.
        RenamedOutputs rewrite;
        auto& renamed = rewrite.names;
        fields.add(
            {document_, main_},
            [&](const wire::FieldRow& row, std::uint64_t i, const wire::Field& element) {
                renamed.clear();
                if (&row != &field<"GraphProto.node">)
                    return &row != &inputs && &row != &outputs && keeps(row, element);
                if (!needed_.is_node_needed(i)) return false;
                model::for_each_made_by(main_, element, &row, [&](std::string_view name, auto&&) {
                    if (given_.contains(name)) renamed.emplace(name, unused_name(name));
                });
                return true;
            },
            &rewrite);
        Message now = std::move(fields).finish(graph);
        for (const std::string& name : inputs_) add_value(made, now, inputs, graph_, name);
        for (const std::string_view name : defaults_) add_value(made, now, inputs, graph_, name);
        for (const std::string& name : outputs_) add_value(made, now, outputs, graph_, name);
    }

    [[nodiscard]] std::string unused_name(std::string_view value) const {
        std::string name;
        std::uint64_t i = 0;
        do {
            name = std::string(value) + "_" + std::to_string(++i);
        } while (needed_.is_own(name) || needed_.is_needed(name) || given_.contains(name) ||
                 made_inside_.contains(name));
        return name;
    }

    // Whether a field of the graph is kept, but for nodes, inputs and outputs.
    [[nodiscard]] bool keeps(const wire::FieldRow& row, const wire::Field& element) const {
        if (&row == &field<"GraphProto.initializer"> ||
            &row == &field<"GraphProto.sparse_initializer">) {
            bool found = false;
            model::for_each_made_by(main_, element, &row, [&](std::string_view name, const auto&) {
                found = needed_.is_needed(name) || given_.contains(name);  // a default of it
            });
            return found;
        }
        if (&row == &field<"GraphProto.value_info">) {
            const auto name = main_.inner(row, element).text(field<"ValueInfoProto.name">);
            return needed_.is_made(name) && !given_.contains(name) && !made_.contains(name);
        }
        if (&row == &field<"GraphProto.quantization_annotation">) {
            return needed_.is_needed(
                main_.inner(row, element).text(field<"TensorAnnotation.tensor_name">));
        }
        return true;
    }

    const model::Document& document_;
    Message main_;
    model::Graph graph_;
    const std::vector<std::string>& inputs_;
    const std::vector<std::string>& outputs_;
    model::NameSet given_;
    model::NameSet made_;
    std::vector<std::string_view> defaults_;  // whose inputs must stay
    model::NameSet made_inside_;              // of subgraphs that are kept
    CalledFunctions functions_;
    Needed needed_;
};

}  // namespace

std::shared_ptr<const model::Document> extract(
    const std::shared_ptr<const model::Document>& document, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs) {
    return Extraction(document, inputs, outputs).run();
}

}  // namespace onnxmap::surgery
