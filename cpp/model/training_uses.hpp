// What the training information of a model uses of its main graph.
// Source: onnx.proto, TrainingInfoProto: a step of training runs the main graph and the graph
// `algorithm` as one graph, and bindings assign values to initializers by their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/captured_values.hpp"
#include "model/graph.hpp"
#include "model/name_table.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

/// Calls visit(graph, field) for each graph that a training information has.
template <class Visit>
void for_each_training_graph(const onnx::Message& training, Visit&& visit) {
    for (const auto* const row : {&onnx::field<"TrainingInfoProto.initialization">,
                                  &onnx::field<"TrainingInfoProto.algorithm">}) {
        if (const auto graph = training.child(*row)) visit(*graph, *row);
    }
}

/// Finds the uses in `algorithm` with a CapturedUses, as if that was a subgraph, and calls
/// visit(entry, field) for each field of a binding that names a value of the main graph. The key is
/// the initializer; the value, of an update, is an output of `algorithm` or of the main graph.
template <class Visit>
void find_in_training(const onnx::Message& training, std::uint32_t depth_left, CapturedUses& uses,
                      Visit&& visit) {
    using onnx::field;
    NameTable made;
    if (const auto algorithm = training.child(field<"TrainingInfoProto.algorithm">)) {
        uses.find_in_subgraph(*algorithm, depth_left);
        for_each_made(*algorithm,
                      [&](std::string_view name, const onnx::Message&) { made.add(name); });
    }
    const wire::FieldRow& key = field<"StringStringEntryProto.key">;
    const wire::FieldRow& value = field<"StringStringEntryProto.value">;
    training.for_each_child(field<"TrainingInfoProto.initialization_binding">,
                            [&](const onnx::Message& entry) { visit(entry, key); });
    training.for_each_child(field<"TrainingInfoProto.update_binding">,
                            [&](const onnx::Message& entry) {
                                visit(entry, key);
                                if (!made.find(entry.text(value))) visit(entry, value);
                            });
}

/// Calls visit(entry, field) for each field of a binding that names a value of `graph`, the
/// training's own one in the field `row`.
template <class Visit>
void find_own_bindings(const onnx::Message& training, const wire::FieldRow& row,
                       const onnx::Message& graph, Visit&& visit) {
    using onnx::field;
    NameTable made;
    for_each_made(graph, [&](std::string_view name, const onnx::Message&) { made.add(name); });
    const auto find_in = [&](const wire::FieldRow& list, const wire::FieldRow& name) {
        training.for_each_child(list, [&](const onnx::Message& entry) {
            if (made.find(entry.text(name))) visit(entry, name);
        });
    };
    const wire::FieldRow& key = field<"StringStringEntryProto.key">;
    const wire::FieldRow& value = field<"StringStringEntryProto.value">;
    if (&row == &field<"TrainingInfoProto.initialization">) {
        find_in(field<"TrainingInfoProto.initialization_binding">, value);
        return;
    }
    find_in(field<"TrainingInfoProto.initialization_binding">, key);
    find_in(field<"TrainingInfoProto.update_binding">, key);
    find_in(field<"TrainingInfoProto.update_binding">, value);
}

/// Calls both for a graph of the document: the first for each training, if it is the main graph,
/// the second if a training has it.
template <class Visit>
void find_in_trainings(const Document& document, const onnx::Message& graph, CapturedUses& uses,
                       Visit&& visit) {
    for (const onnx::Message& training : training_info_of(document, graph))
        find_in_training(training, document.limits().depth, uses, visit);
    if (!document.is_model()) return;
    const auto find_own = [&](const onnx::Message& training) {
        for_each_training_graph(training, [&](const onnx::Message& own, const auto& row) {
            if (own.is(graph)) find_own_bindings(training, row, graph, visit);
        });
    };
    const wire::FieldRow& trainings = onnx::field<"ModelProto.training_info">;
    document.index(document.root())->for_each_child(trainings, find_own);
}

}  // namespace onnxmap::model
