#include "check/training_check.hpp"

#include <optional>
#include <string>

#include "check/graph_check.hpp"
#include "model/list_names.hpp"
#include "model/name_table.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

// The names in a list of a graph.
void add_names(model::NameTable& names, const onnx::Message& graph, const wire::FieldRow& row) {
    const wire::FieldRow& name = *model::naming_field(row);
    graph.for_each_child(row, [&](const onnx::Message& value) { names.add(value.text(name)); });
}

struct GraphNames {
    model::NameTable initializers;
    model::NameTable outputs;
    model::NameTable nodes;

    void add(const onnx::Message& graph) {
        add_names(initializers, graph, field<"GraphProto.initializer">);
        const wire::FieldRow& sparse = field<"GraphProto.sparse_initializer">;
        graph.for_each_child(sparse, [&](const onnx::Message& value) {
            const auto tensor = value.child(field<"SparseTensorProto.values">);
            if (tensor) initializers.add(tensor->text(field<"TensorProto.name">));
        });
        add_names(outputs, graph, field<"GraphProto.output">);
        add_names(nodes, graph, field<"GraphProto.node">);
    }
};

class TrainingCheck {
  public:
    TrainingCheck(Checking& checking, const model::FieldIndex& graph) : checking_(checking) {
        main_.add(graph.message());
    }

    void check(const onnx::Message& info, const FieldPath& path) {
        const auto initialization = info.child(field<"TrainingInfoProto.initialization">);
        const auto algorithm = info.child(field<"TrainingInfoProto.algorithm">);
        GraphNames first;
        GraphNames step;
        const Owner owner{checking_.imports, checking_.operators_of(checking_.imports)};
        if (initialization) {
            const FieldPath at{&path, &field<"TrainingInfoProto.initialization">};
            GraphCheck(checking_, *initialization, at, GraphKind::initialization, owner).run();
            first.add(*initialization);
        }
        if (algorithm) {
            const FieldPath at{&path, &field<"TrainingInfoProto.algorithm">};
            GraphCheck(checking_, *algorithm, at, GraphKind::algorithm, owner).run();
            step.add(*algorithm);
            check_combined(*algorithm, field<"GraphProto.node">, main_.nodes, at);
            check_combined(*algorithm, field<"GraphProto.output">, main_.outputs, at);
        }
        model::NameTable keys;
        check_bindings(info, field<"TrainingInfoProto.initialization_binding">, path, keys, step,
                       [&](std::string_view value) { return first.outputs.find(value); });
        check_bindings(info, field<"TrainingInfoProto.update_binding">, path, updated_, step,
                       [&](std::string_view value) {
                           const auto known = step.outputs.find(value);
                           return known ? known : main_.outputs.find(value);
                       });
    }

  private:
    // The elements of a list of the algorithm have other names than those of the model's graph. Of
    // values that both define, there is a finding already.
    void check_combined(const onnx::Message& algorithm, const wire::FieldRow& row,
                        const model::NameTable& of_main, const FieldPath& path) {
        const wire::FieldRow& name_row = *model::naming_field(row);
        for_each_child(algorithm, row, path, [&](const onnx::Message& value, const FieldPath& at) {
            const auto name = value.text(name_row);
            if (name.empty() || !of_main.find(name)) return;
            checking_.found(
                Rule::training_name_repeated, at,
                {"the ", row.name, " ", Quoted(name), " is also one of the model's graph"});
        });
    }

    template <class Find>
    void check_bindings(const onnx::Message& info, const wire::FieldRow& row, const FieldPath& path,
                        model::NameTable& keys, const GraphNames& step, Find&& find_value) {
        for_each_child(info, row, path, [&](const onnx::Message& entry, const FieldPath& at) {
            const auto key = entry.text(field<"StringStringEntryProto.key">);
            const auto value = entry.text(field<"StringStringEntryProto.value">);
            if (!keys.add(key).is_new) {
                checking_.found(Rule::training_key_repeated, at, {Quoted(key), " is bound twice"});
            }
            if (!main_.initializers.find(key) && !step.initializers.find(key)) {
                checking_.found(Rule::training_key_unknown, at,
                                {"no initializer has the name ", Quoted(key)});
            }
            if (!find_value(value)) {
                checking_.found(Rule::training_value_unknown, at,
                                {"no output has the name ", Quoted(value)});
            }
        });
    }

    Checking& checking_;
    GraphNames main_;
    model::NameTable updated_;  // the keys of all update bindings
};

}  // namespace

void check_training(Checking& checking, const onnx::Message& root, const model::FieldIndex& graph,
                    const FieldPath& path) {
    const wire::FieldRow& row = field<"ModelProto.training_info">;
    std::optional<TrainingCheck> check;
    for_each_child(root, row, path, [&](const onnx::Message& value, const FieldPath& at) {
        if (!check) check.emplace(checking, graph);
        check->check(value, at);
    });
}

}  // namespace onnxmap::check
