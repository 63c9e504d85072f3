// The shapes of the inputs of one node, its attributes, and what its operator makes of them. A
// dimension that is not told fits any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/shape_store.hpp"
#include "onnx/message.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

/// Most dimensions of a shape that a node makes. Files may have more; readers have few.
inline constexpr std::size_t kMostMade = 16;

/// As text: "[2, ?, 3]".
[[nodiscard]] std::string shape_text(NumberView shape);

/// Where a node says something: in an attribute or in an input.
struct Place {
    std::string_view attribute = {};  // empty: an input
    std::size_t input = 0;
};

/// A list of numbers that an attribute or an input gives.
struct List {
    bool is_given = false;
    std::optional<Numbers> values = std::nullopt;  // nothing: not even their number is known
    Place path = {};
};

class NodeShapes {
  public:
    explicit NodeShapes(ShapeStore& store) : store_(store) {}

    /// Begins with another node. Its inputs follow.
    void begin(const onnx::Operator& op, const onnx::Message& node);
    void add_input(std::size_t slot, ShapeStore::Id shape) {
        inputs_.resize(slot + 1);
        inputs_[slot] = shape;
    }

    [[nodiscard]] std::int64_t since() const noexcept { return op_->since(); }
    /// One more than the last input that is not left out.
    [[nodiscard]] std::size_t inputs() const noexcept { return inputs_.size(); }
    [[nodiscard]] std::size_t outputs() const {
        return node_->count(onnx::field<"NodeProto.output">);
    }
    [[nodiscard]] bool has_input(std::size_t slot) const {
        return slot < inputs_.size() && inputs_[slot].has_value();
    }
    [[nodiscard]] const Known& input(std::size_t slot) const {
        return store_.at(has_input(slot) ? *inputs_[slot] : ShapeStore::kNothing);
    }
    [[nodiscard]] const std::optional<NumberView>& dims(std::size_t slot) const {
        return input(slot).dims;
    }

    [[nodiscard]] bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
    [[nodiscard]] std::int64_t number(std::string_view attribute, std::int64_t missing) const {
        return has(attribute) ? find(attribute)->second.int64(onnx::field<"AttributeProto.i">)
                              : missing;
    }
    [[nodiscard]] std::optional<Numbers> numbers(std::string_view attribute) const;
    [[nodiscard]] std::string_view text(std::string_view attribute) const {
        return has(attribute) ? find(attribute)->second.text(onnx::field<"AttributeProto.s">)
                              : std::string_view();
    }
    [[nodiscard]] std::optional<onnx::Message> tensor(std::string_view attribute) const {
        return has(attribute) ? find(attribute)->second.child(onnx::field<"AttributeProto.t">)
                              : std::nullopt;
    }
    /// What the attribute says, or else the input. `attribute`: empty if there is none.
    List list(std::string_view attribute, std::size_t slot);
    /// What an input says that is a scalar or a list.
    [[nodiscard]] std::optional<Numbers> elements(std::size_t slot) const;
    /// The position of an axis of a value of this rank. Nothing if it is not known; a fault if it
    /// is not there. `more`: how many axes there are behind the last.
    std::optional<std::size_t> axis(const Place& path, std::int64_t value, std::size_t rank,
                                    std::size_t more = 0);

    /// Tells an output.
    void make(std::size_t slot, const Known& known);
    void make(std::size_t slot, NumberView dims) { make(slot, Known{dims}); }
    /// An output is like an input. `with_elements`: has its elements, too.
    void pass(std::size_t slot, std::size_t input_slot, bool with_elements = false);
    [[nodiscard]] ShapeStore::Id made(std::size_t slot) const {
        return slot < made_.size() && !is_unsure_ ? made_[slot] : ShapeStore::kNothing;
    }

    struct Fault {
        Place path;
        std::string message;
    };
    /// What is wrong, the first of all. A default is not.
    void wrong(const Place& path, std::string message) {
        const bool is_default = !path.attribute.empty() && !has(path.attribute);
        if (!fault_ && !is_default) fault_ = {path, std::move(message)};
    }
    void wrong(std::size_t slot, std::string message) {
        wrong(Place{{}, slot}, std::move(message));
    }
    /// Two inputs do not fit.
    void wrong(std::size_t slot, const std::string& what, std::size_t other);
    [[nodiscard]] const std::optional<Fault>& fault() const noexcept { return fault_; }
    /// Whether the caller of a function gives an attribute, so that nothing is certain.
    [[nodiscard]] bool is_unsure() const noexcept { return is_unsure_; }
    /// The position of an attribute that the node has.
    [[nodiscard]] std::uint64_t position_of(std::string_view attribute) const {
        return static_cast<std::uint64_t>(find(attribute) - attributes_.data());
    }

  private:
    using Attribute = std::pair<std::string_view, onnx::Message>;
    [[nodiscard]] const Attribute* find(std::string_view attribute) const;

    ShapeStore& store_;
    const onnx::Operator* op_ = nullptr;
    const onnx::Message* node_ = nullptr;
    std::vector<std::optional<ShapeStore::Id>> inputs_;
    std::vector<ShapeStore::Id> made_;
    std::optional<Fault> fault_;
    mutable bool has_attributes_ = false;  // whether they were looked for
    mutable bool is_unsure_ = false;
    mutable std::vector<Attribute> attributes_;
};

}  // namespace onnxmap::check
