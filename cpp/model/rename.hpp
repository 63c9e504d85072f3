// Renames values of a graph, with everything that refers to them: nodes and their sharding specs,
// subgraphs, inputs, outputs, value infos, annotations, training algorithms and bindings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/captured_values.hpp"
#include "model/graph.hpp"
#include "model/name_filter.hpp"
#include "model/name_table.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

struct NewText {
    std::uint32_t index;  // of a repeated field
    std::string_view text;
};

/// Replaces the text of a field, or texts of a repeated one, in one edit.
void set_texts(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
               std::span<const NewText> texts);

/// Calls visit(spec, field) for each sharding spec of a node, and its field with the name of a
/// value.
template <class Visit>
void for_each_shard(const onnx::Message& node, Visit&& visit) {
    const wire::FieldRow& configurations = onnx::field<"NodeProto.device_configurations">;
    const wire::FieldRow& specs = onnx::field<"NodeDeviceConfigurationProto.sharding_spec">;
    node.for_each_child(configurations, [&](const onnx::Message& configuration) {
        configuration.for_each_child(specs, [&](const onnx::Message& element) {
            visit(element, onnx::field<"ShardingSpecProto.tensor_name">);
        });
    });
}

class Renaming {
  public:
    struct Names {
        std::string before;
        std::string after;
    };

    /// Which values have the old names: only initializers, or also inputs and outputs of nodes.
    enum class Of { initializers, all_values };

    /// Finds all that refers to the values. The old names differ.
    /// A pair of equal names renames nothing, and is not checked.
    Renaming(const Graph& graph, std::vector<Names> names);
    Renaming(const Renaming&) = delete;
    Renaming& operator=(const Renaming&) = delete;

    /// The first old name that is not the name of one such value. Initializers are dense or sparse,
    /// and the segments of a tensor are one.
    [[nodiscard]] std::optional<std::string_view> first_unknown(Of values) const;

    /// Renames all of them, which must be known. Before the first edit, throws Error
    /// `edit.removed`, and std::invalid_argument if a new name is empty, repeats, is taken by a
    /// value of the graph that keeps its name, by a value of a subgraph, which would hide it, or by
    /// a value of a graph around it, or one that is used here, which would be hidden.
    void apply() const;

  private:
    // A text field, or one text of a repeated field, that becomes a new name.
    struct Renamed {
        onnx::Message message;
        const wire::FieldRow* field;
        std::uint32_t index;  // of a repeated field
        std::uint32_t pair;   // in names_
    };
    struct Found {
        std::uint64_t count = 0;  // of the dense initializers with the old name
        std::uint64_t segments = 0;
        bool is_sparse = false;
        bool is_made = false;      // an input or an output of a node has the old name
        bool is_output = false;    // the walk found the node
        bool is_taken = false;     // another value of the graph has the new name
        bool is_doubled = false;   // another pair has the new name
        bool is_hidden = false;    // a value of a subgraph has the new name
        bool is_captured = false;  // the graph uses a value of the new name that it does not make
        bool is_around = false;    // a graph around this one makes a value of the new name
    };

    void note(std::string_view name, const onnx::Message& message, const wire::FieldRow& field,
              std::uint32_t index = 0);
    void note(const onnx::Message& message, const wire::FieldRow& field) {
        note(message.text(field), message, field);
    }
    void find_before(std::uint32_t pair, const FieldIndex& fields, FollowedUses& followed);
    void find_after(std::uint32_t after, const FieldIndex& fields, FollowedUses& followed);
    void find_in_lists(const FieldIndex& fields);
    [[nodiscard]] bool may_concern(const onnx::Message& node) const;
    [[nodiscard]] CapturedUses captured_uses();
    void note_made(std::string_view name, const onnx::Message& maker);
    template <class Visit>
    void for_each_named(const FieldIndex& fields, const wire::FieldRow& list, std::string_view name,
                        Visit&& visit) const;
    void note_sparse(const onnx::Message& values);
    void note_outer(std::string_view name);
    void note_use(std::string_view name, const onnx::Message& user, std::uint32_t index);
    void note_outputs(std::string_view name, const onnx::Message& node);
    void note_shards();
    void find_all();
    void check() const;

    const Document& document_;
    onnx::Message graph_;
    std::vector<Names> names_;
    std::vector<Found> found_;             // of each pair
    NameTable before_;                     // by pair
    NameTable after_;                      // different ones
    NameFilter filter_;                    // of both
    std::vector<std::uint32_t> first_of_;  // of each of these: the first pair that has it
    std::vector<Renamed> renamed_;
};

}  // namespace onnxmap::model
