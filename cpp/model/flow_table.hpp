// Which values the nodes of a graph or function use and make, as numbers: each mention of a name is
// looked up once.
// Source: ONNX's IR.md, "Nodes", "Value names" and "Graphs": values have names, a name is made
// once, and subgraphs see the values of the graphs around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "model/field_index.hpp"
#include "model/mentions.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::model {

/// The positions of nodes in an order in which each comes after those that it depends on, and a
/// node of a cycle if they are not all.
struct TopologicalOrder {
    std::vector<std::uint32_t> nodes;
    std::optional<std::uint32_t> in_cycle;
};

/// The elements are nodes, the names are values.
class FlowTable : public Mentions {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// Notes that a value, which has a name, is used. Returns its number.
    using Use = std::function<std::uint32_t(std::string_view name)>;
    /// What a node has besides its values.
    struct Node {
        onnx::Message message;
        std::uint32_t position;
        std::string_view op_type = {};
        std::string_view domain = {};
        std::string_view overload = {};
        std::uint32_t inputs = 0;  // how many
        bool holds_graphs = false;

        /// Calls use(name) for each value around the node that its subgraphs use.
        void find_captured(const Use& use, std::uint32_t max_depth) const;
    };
    using Visit = std::function<void(const Node& node, const Use& use)>;
    using Marks = os::LargeVector<std::uint8_t>;

    explicit FlowTable(NameTable::Text text = NameTable::Text::viewed) : Mentions(text) {}

    /// Reads all nodes of a GraphProto or FunctionProto. Calls visit(node, use) for each: what its
    /// subgraphs use of the values around them is for use(name). It must not edit the document:
    /// other threads may read later nodes meanwhile.
    void read(const FieldIndex& body, const Visit& visit);
    /// The same, and also what the subgraphs use.
    void read_all(const FieldIndex& body, std::uint32_t max_depth);

    /// The number of a value, which is the next one if the name is new.
    std::uint32_t add(std::string_view name) {
        const auto added = names().add(name);
        if (added.is_new) makers_.push_back(kNone);
        return added.position;
    }

    /// The node that makes a value, or kNone; of several, the last one.
    [[nodiscard]] std::uint32_t maker(std::uint32_t value) const noexcept { return makers_[value]; }
    void set_maker(std::uint32_t value, std::uint32_t node) noexcept { makers_[value] = node; }
    /// Throws Error `model.duplicate_name` if several nodes make one value.
    void check_makers() const;
    /// Whether each value has one maker: check_makers() does not throw.
    [[nodiscard]] bool has_single_makers() const noexcept { return made_twice_ == kNone; }

    /// Calls visit(value) for each value that a node, or a subgraph of it, uses.
    template <class Visit>
    void for_each_used(std::uint32_t node, Visit&& visit) const {
        for (const std::uint32_t mention : of_element(node)) {
            if ((mention & kMade) == 0) visit(mention);
        }
    }
    template <class Visit>
    void for_each_made(std::uint32_t node, Visit&& visit) const {
        for (const std::uint32_t mention : of_element(node)) {
            if ((mention & kMade) != 0) visit(mention & ~kMade);
        }
    }

    /// Marks all values that depend on marked ones. Returns which nodes do. Nodes that are marked
    /// already pass nothing on.
    [[nodiscard]] Marks spread(Marks& values, Marks nodes) const;

    /// Whether each value is made once, before it is used.
    [[nodiscard]] bool is_sorted() const noexcept { return is_sorted_; }
    /// The nodes, each after those whose values it or its subgraphs use, otherwise in the order of
    /// the body. Throws what check_makers() throws.
    [[nodiscard]] TopologicalOrder order() const;

  private:
    enum class Kind : std::uint8_t {
        used,
        used_after,  // was read after an output of the node
        made
    };
    // Nodes that a thread has read, and the values that each of them uses and makes.
    struct Batch {
        struct Value {
            std::string_view name;
            std::uint32_t hash;
            Kind kind;
        };
        std::vector<Node> nodes;
        std::vector<Value> values;
        std::vector<std::size_t> ends;  // of the values of each node

        void read(const onnx::Message& body, FieldIndex::Cursor& cursor, std::uint64_t end);
    };

    void add_all(const Batch& batch, const Visit& visit);
    void note(const NameTable::Added& value, Kind kind, std::uint32_t node);

    os::LargeVector<std::uint32_t> makers_;  // by value
    std::uint32_t made_twice_ = kNone;       // a value
    bool is_sorted_ = true;
};

}  // namespace onnxmap::model
