// One of two models that are merged, and the names in its main graph.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/captured_values.hpp"
#include "model/document.hpp"
#include "model/graph.hpp"
#include "model/name_table.hpp"
#include "model/training_uses.hpp"

namespace onnxmap::surgery {

/// The messages of a list by one of their texts; of several, the first.
[[nodiscard]] inline model::NameMap<onnx::Message> messages_by(const wire::FieldRow& text,
                                                               const onnx::Message& holder,
                                                               const wire::FieldRow& list) {
    model::NameMap<onnx::Message> found;
    holder.for_each_child(list,
                          [&](const onnx::Message& each) { found.emplace(each.text(text), each); });
    return found;
}

struct MergePart {
    explicit MergePart(const model::Document& of)
        : document(of),
          root(of.root()),
          main(model::main_graph_message(of)),
          inputs(messages_by(kName, main, onnx::field<"GraphProto.input">)),
          outputs(messages_by(kName, main, onnx::field<"GraphProto.output">)) {
        model::for_each_made(main, [&](std::string_view name, const onnx::Message&) {
            if (!name.empty()) made.insert(name);
        });
        model::CapturedUses uses({}, [&](std::string_view name) { made_inside.insert(name); });
        const std::uint32_t depth = of.limits().depth + 1;
        uses.find_in(main, depth);
        // Training runs the main graph and an algorithm as one graph, and has outputs of both.
        for (const onnx::Message& training : model::training_info_of(of, main)) {
            model::find_in_training(training, depth, uses,
                                    [&](const onnx::Message& entry, const wire::FieldRow& text) {
                                        if (&text == &onnx::field<"StringStringEntryProto.value">)
                                            trained.insert(entry.text(text));
                                    });
        }
        main.for_each_child(onnx::field<"GraphProto.node">, [&](const onnx::Message& node) {
            const std::string_view name = node.text(onnx::field<"NodeProto.name">);
            if (!name.empty()) nodes.insert(name);
        });
    }

    static constexpr const wire::FieldRow& kName = onnx::field<"ValueInfoProto.name">;

    const model::Document& document;
    onnx::Message root;
    onnx::Message main;
    model::NameMap<onnx::Message> inputs;
    model::NameMap<onnx::Message> outputs;
    model::NameSet made;
    model::NameSet made_inside;  // of subgraphs and training
    model::NameSet trained;      // outputs that training assigns
    model::NameSet nodes;
};

}  // namespace onnxmap::surgery
