// Which values a node can use where the walk over a model is: the values of its graph so far, and
// the values of the graphs around it. One look-up per name, however deeply graphs are nested.
// Source: ONNX's IR.md, "Names Within a Graph" and "Nodes".
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "check/shape_store.hpp"
#include "model/name_table.hpp"
#include "onnx/operators.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::check {

class VisibleValues {
  public:
    using Id = std::uint32_t;

    /// What is known of a name in the innermost graph that defines it.
    enum Mark : std::uint8_t {
        none = 0,
        is_input = 1,
        is_initializer = 2,
        is_made = 4,  // by a node
        is_output = 8,
        is_described = 16,  // by value_info
        is_used = 64,       // by a node, here or in a graph below
        is_outer = 32,      // a graph around here defines it, and this one only describes it
        kDefined = is_input | is_initializer | is_made,
    };

    /// The table of all names; a name keeps its number.
    [[nodiscard]] model::NameTable& names() noexcept { return names_; }

    /// Makes room for the names of the first graph. To do so again for each graph could copy the
    /// table each time.
    void reserve(std::uint64_t names) {
        if (depth_ > 1) return;
        names_.reserve(names);
        states_.reserve(names);
    }

    /// The number of a name.
    Id id(std::string_view name) { return known(names_.add(name)); }
    Id known(const model::NameTable::Added& name) {
        if (name.is_new) states_.push_back({});
        return name.position;
    }

    /// Enters a graph. `sees_outer`: whether its nodes see what is visible here. `is_last`: whether
    /// nothing is looked at after leave().
    void enter(bool sees_outer, bool is_last) {
        scopes_.push_back({changed_.size(), floor_, is_last});
        ++depth_;
        if (!sees_outer) floor_ = depth_;
    }
    /// Leaves it, and forgets what it defined.
    void leave() {
        const Scope scope = scopes_.back();
        scopes_.pop_back();
        for (; changed_.size() > scope.changed; changed_.pop_back()) {
            const auto& [id, before] = changed_.back();
            // A graph that only describes an outer value uses that one.
            const bool is_outer_used = (states_[id].marks & is_outer) != 0;
            const unsigned used = is_outer_used ? states_[id].marks & is_used : 0U;
            states_[id] = before;
            states_[id].marks |= static_cast<std::uint8_t>(used);
        }
        floor_ = scope.floor;
        --depth_;
    }

    /// The marks of a name in the graph where the walk is; 0 if it has none.
    [[nodiscard]] unsigned here(Id id) const {
        return states_[id].depth == depth_ ? states_[id].marks : 0;
    }
    /// Whether a value of that name is visible.
    [[nodiscard]] bool is_visible(Id id) const {
        return states_[id].depth >= floor_ && (states_[id].marks & (kDefined | is_outer)) != 0;
    }
    /// Whether a graph around here defines a value of that name, and this graph none.
    [[nodiscard]] bool is_from_outside(Id id) const {
        return is_visible(id) && (here(id) & kDefined) == 0;
    }
    /// Marks a name in the graph where the walk is.
    void mark(Id id, Mark mark) {
        State& state = states_[id];
        if (state.depth != depth_) {
            if (!scopes_.back().is_last) changed_.emplace_back(id, state);
            const bool stays_visible = (mark & kDefined) == 0 && is_visible(id);
            state = stays_visible ? State{depth_, is_outer, state.type, state.shape}
                                  : State{.depth = depth_};
        }
        state.marks |= mark;
    }

    /// Notes that a node uses a visible value, which may be one of a graph around here.
    void note_use(Id id) { states_[id].marks |= is_used; }

    /// The type of a value: of one that is visible, or of one that the graph describes.
    [[nodiscard]] onnx::ValueType type(Id id) const {
        return states_[id].depth >= floor_ ? states_[id].type : onnx::ValueType();
    }
    /// The type of a value that the graph where the walk is only describes so far.
    [[nodiscard]] onnx::ValueType described_type(Id id) const {
        const State& state = states_[id];
        return state.depth == depth_ && (state.marks & kDefined) == 0 ? state.type
                                                                      : onnx::ValueType();
    }
    /// Notes the type of a value of the graph where the walk is, which may come later.
    void set_type(Id id, onnx::ValueType type) {
        mark(id, none);
        states_[id].type = type;
    }

    /// The same three for what is known of the shape of a value.
    [[nodiscard]] ShapeStore::Id shape(Id id) const {
        return states_[id].depth >= floor_ ? states_[id].shape : ShapeStore::kNothing;
    }
    [[nodiscard]] ShapeStore::Id described_shape(Id id) const {
        const State& state = states_[id];
        return state.depth == depth_ && (state.marks & kDefined) == 0 ? state.shape
                                                                      : ShapeStore::kNothing;
    }
    void set_shape(Id id, ShapeStore::Id shape) {
        mark(id, none);
        states_[id].shape = shape;
    }

  private:
    struct State {
        std::uint16_t depth = 0;  // of the graph that defines it
        std::uint8_t marks = 0;
        onnx::ValueType type = {};
        ShapeStore::Id shape = ShapeStore::kNothing;
    };
    struct Scope {
        std::size_t changed;
        std::uint16_t floor;
        bool is_last;
    };

    model::NameTable names_;
    os::LargeVector<State> states_;              // of each name
    std::vector<std::pair<Id, State>> changed_;  // before the graphs where the walk is
    std::vector<Scope> scopes_;
    std::uint16_t depth_ = 0;
    std::uint16_t floor_ = 1;  // the outermost graph that is seen
};

}  // namespace onnxmap::check
