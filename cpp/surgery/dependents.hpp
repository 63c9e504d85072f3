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
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "surgery/bodies.hpp"
#include "surgery/dataflow.hpp"

namespace onnxmap::surgery {

class Dependents {
  public:
    using InputNames = std::set<std::string, std::less<>>;

    /// `sizes`: numbers of dimensions that change. Throws Error `limit.text_bytes` if the places of
    /// constants are too long together.
    Dependents(const model::Document& document, const onnx::Message& main, const InputNames& inputs,
               const std::set<std::int64_t>& sizes);

    /// Whether a value of the main graph depends on the inputs, or is one.
    [[nodiscard]] bool has(std::string_view value) const;
    /// Graphs and functions in which all values count as dependent.
    [[nodiscard]] const std::vector<onnx::Message>& bodies() const noexcept { return bodies_; }
    /// The places of inputs that are constants with one of the sizes, where an operator takes them.
    [[nodiscard]] const std::vector<std::string>& constants() const noexcept { return constants_; }

  private:
    // What makes the values of a graph or function; found when it is first needed.
    struct Maker {
        onnx::Message message;
        std::optional<bool> holds_size = std::nullopt;  // once it was asked
    };
    using Makers = model::NameMap<Maker>;
    struct Scope {
        onnx::Message body;
        bool is_outermost;
        std::optional<Makers> makers;
    };

    struct TakesSizes;
    // A node, and what there is to do in it.
    struct Entered {
        onnx::Message message;
        std::uint64_t position;
        const TakesSizes* takes;  // null: none
        bool may_hold_graphs;
    };

    // Null for an operator that takes none.
    static const TakesSizes* sizes_taken_by(std::string_view op_type, std::string_view domain);
    void read_nodes(const model::FieldIndex& main);
    void enter_nodes(const onnx::Message& body, const std::string& path, std::uint32_t depth_left);
    void enter_trainings(const onnx::Message& main);
    void enter(const Entered& node, const std::string& body, std::uint32_t depth_left);
    template <class Path>
    void enter_graphs(const onnx::Message& holder, const wire::FieldRow& list, Path&& path,
                      std::uint32_t depth_left);
    template <class Path>
    void find_constants(const model::Node& node, const TakesSizes& takes, Path&& path);
    static Makers makers_in(const Scope& scope);
    [[nodiscard]] Makers constants_in(const model::FieldIndex& main) const;
    [[nodiscard]] bool holds_size(std::string_view name);
    [[nodiscard]] bool makes_size(const onnx::Message& maker) const;
    [[nodiscard]] bool tensor_holds_size(const onnx::Message& message) const;

    const model::Document& document_;
    const InputNames& inputs_;
    const std::set<std::int64_t>& sizes_;
    Dataflow flow_;                 // of the main graph
    Dataflow::Marks is_dependent_;  // by value
    // Nodes of the main graph that matter not only for their values.
    std::vector<Entered> entered_;
    std::vector<model::Node> constant_nodes_;  // of the main graph
    std::unordered_multimap<std::string, PlacedBody, model::NameHash> functions_;  // not called yet
    std::vector<PlacedBody> called_;
    std::vector<Scope> scopes_;  // around the node that is read, the innermost last
    std::vector<onnx::Message> bodies_;
    std::vector<std::string> constants_;
    std::uint64_t text_left_ = document_.limits().text_bytes;
};

}  // namespace onnxmap::surgery
