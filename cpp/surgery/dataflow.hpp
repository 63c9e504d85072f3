// Which values the nodes of a graph or function use and make, as numbers: each mention of a name is
// looked up once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include "model/captured_values.hpp"
#include "model/field_index.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "model/topological_order.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::surgery {

class Dataflow {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// What a node has besides its values.
    struct Node {
        const onnx::Message& message;
        std::uint32_t position;
        std::string_view op_type = {};
        std::string_view domain = {};
        std::string_view overload = {};
        bool holds_graphs = false;

        /// Calls use(name) for each value around the node that its subgraphs use.
        template <class Use>
        void find_captured(Use&& use, std::uint32_t max_depth) const {
            model::CapturedUses uses([&](std::string_view name, auto&&...) { use(name); });
            uses.find_below(model::Node(message), max_depth);
        }
    };
    using Marks = os::LargeVector<std::uint8_t>;

    /// Reads all nodes of a GraphProto or FunctionProto. Calls visit(node, use) for each: what its
    /// subgraphs use of the values around them is for use(name).
    template <class Visit>
    void read(const model::FieldIndex& body, Visit&& visit);

    /// The number of a value, which is the next one if the name is new.
    std::uint32_t add(std::string_view name) {
        const auto added = names_.add(name);
        if (added.is_new) makers_.push_back(kNone);
        return added.position;
    }
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept {
        return names_.find(name);
    }
    [[nodiscard]] std::string_view name(std::uint32_t value) const noexcept {
        return names_.name(value);
    }
    [[nodiscard]] std::uint32_t value_count() const noexcept { return names_.size(); }
    [[nodiscard]] std::uint32_t node_count() const noexcept {
        return static_cast<std::uint32_t>(ends_.size());
    }

    /// The node that makes a value, or kNone; of several, the last one.
    [[nodiscard]] std::uint32_t maker(std::uint32_t value) const noexcept { return makers_[value]; }
    void set_maker(std::uint32_t value, std::uint32_t node) noexcept { makers_[value] = node; }
    /// Throws Error `model.duplicate_name` if several nodes make one value.
    void check_makers() const;

    /// Calls visit(value) for each value that a node, or a subgraph of it, uses.
    template <class Visit>
    void for_each_used(std::uint32_t node, Visit&& visit) const {
        for (const std::uint32_t mention : mentions(node)) {
            if ((mention & kMade) == 0) visit(mention);
        }
    }
    template <class Visit>
    void for_each_made(std::uint32_t node, Visit&& visit) const {
        for (const std::uint32_t mention : mentions(node)) {
            if ((mention & kMade) != 0) visit(mention & ~kMade);
        }
    }

    /// Marks all values that depend on marked ones. Returns which nodes do. Nodes that are marked
    /// already pass nothing on.
    [[nodiscard]] Marks spread(Marks& values, Marks nodes) const;

    /// Whether each value is made before it is used, and by one node.
    [[nodiscard]] bool is_sorted() const noexcept { return is_sorted_; }
    /// Throws what check_makers() throws.
    [[nodiscard]] model::TopologicalOrder order() const;

  private:
    static constexpr std::uint32_t kMade = std::uint32_t{1} << 31;

    enum class Kind : std::uint8_t {
        used,
        used_after,  // was read after an output of the node
        made
    };
    struct Role {
        std::uint32_t node;
        Kind kind;
    };
    struct Note {
        Dataflow& self;
        void operator()(const model::NameTable::Added& value, const Role& role) const {
            self.note(value, role);
        }
    };

    void reserve(const model::FieldIndex& body);
    void note(const model::NameTable::Added& value, const Role& role);
    void finish();
    [[nodiscard]] std::span<const std::uint32_t> mentions(std::uint32_t node) const noexcept {
        const std::uint32_t begin = node == 0 ? 0 : ends_[node - 1];
        return std::span(mentions_).subspan(begin, ends_[node] - begin);
    }

    model::NameTable names_;
    os::LargeVector<std::uint32_t> makers_;    // by value
    os::LargeVector<std::uint32_t> mentions_;  // by the nodes, one after the other
    os::LargeVector<std::uint32_t> ends_;      // of the mentions of each node
    std::uint32_t made_twice_ = kNone;         // a value
    bool is_sorted_ = true;
};

template <class Visit>
void Dataflow::read(const model::FieldIndex& body, Visit&& visit) {
    using onnx::field;
    reserve(body);
    model::NamesInFlight<Role> in_flight(names_);
    const Note note{*this};
    const wire::FieldRow& nodes = model::nodes_of(body.message());
    std::uint32_t position = 0;
    body.for_each(nodes, [&](const wire::Field& element) {
        const onnx::Message message = body.message().inner(nodes, element);
        Node node{message, position++};
        // A switch, not for_each_field(): to look up the rows takes as long as the rest.
        Kind used = Kind::used;
        onnx::Message::Walk walk(message);
        for (wire::Field found; walk.next(found);) {
            if (found.type != wire::WireType::length_delimited) continue;  // no field below
            switch (found.number) {
                case field<"NodeProto.input">.number:
                    if (!found.bytes.empty())
                        in_flight.add(found.text(), {node.position, used}, note);
                    break;
                case field<"NodeProto.output">.number:
                    used = Kind::used_after;
                    if (!found.bytes.empty())
                        in_flight.add(found.text(), {node.position, Kind::made}, note);
                    break;
                case field<"NodeProto.op_type">.number: node.op_type = found.text(); break;
                case field<"NodeProto.domain">.number: node.domain = found.text(); break;
                case field<"NodeProto.overload">.number: node.overload = found.text(); break;
                case field<"NodeProto.attribute">.number:
                    node.holds_graphs =
                        node.holds_graphs ||
                        model::Attribute(message.inner(field<"NodeProto.attribute">, found))
                            .may_hold_graph();
                    break;
                default: break;
            }
        }
        visit(node, [&](std::string_view name) {
            if (!name.empty()) in_flight.add(name, {node.position, Kind::used_after}, note);
        });
    });
    in_flight.finish(note);
    finish();
}

}  // namespace onnxmap::surgery
