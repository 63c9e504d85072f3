// What depends on inputs of the main graph: values, nodes with their subgraphs, and the functions
// that these nodes call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/flow_table.hpp"
#include "model/name_table.hpp"
#include "surgery/bodies.hpp"
#include "surgery/size_places.hpp"

namespace onnxmap::surgery {

class Dependents {
  public:
    using InputNames = std::set<std::string, std::less<>>;

    /// `sizes`: which numbers of dimensions change. Throws Error `limit.text_bytes` if the places
    /// of constants are too long together.
    Dependents(const model::Document& document, const onnx::Message& main, const InputNames& inputs,
               const ChangedSizes& sizes);

    /// Whether a value of the main graph depends on the inputs, or is one.
    [[nodiscard]] bool has(std::string_view value) const;
    /// Graphs and functions in which all values count as dependent.
    [[nodiscard]] const std::vector<onnx::Message>& bodies() const noexcept { return bodies_; }
    /// The constants that dependent nodes take as sizes, if these change.
    [[nodiscard]] const SizePlaces& places() const noexcept { return places_; }

  private:
    using FlowTable = model::FlowTable;

    // A node, and what there is to do in it.
    struct Entered {
        onnx::Message message;
        std::uint64_t position;
        const TakesSizes* takes;  // null: none
        bool may_hold_graphs;
        bool has_batch = false;  // its first input has the batch of an input of the model
    };

    void read_nodes(const model::FieldIndex& main);
    void enter_nodes(const onnx::Message& body, const std::string& path, std::uint32_t depth_left);
    void find_batches();
    void enter_trainings(const onnx::Message& main);
    void enter(const Entered& node, const std::string& body, std::uint32_t depth_left);
    template <class Path>
    void enter_graphs(const onnx::Message& holder, const wire::FieldRow& list, Path&& path,
                      std::uint32_t depth_left);

    const model::Document& document_;
    const InputNames& inputs_;
    bool changes_ones_;              // whether dimensions of 1 change, which may be batches
    FlowTable flow_;                 // of the main graph
    FlowTable::Marks is_dependent_;  // by value
    // Nodes of the main graph that matter not only for their values.
    std::vector<Entered> entered_;
    std::vector<std::uint32_t> drops_batch_;  // positions of nodes, if dimensions of 1 change
    std::unordered_multimap<std::string, PlacedBody, model::NameHash> functions_;  // not called yet
    std::vector<PlacedBody> called_;
    std::vector<onnx::Message> bodies_;
    SizePlaces places_;
};

}  // namespace onnxmap::surgery
