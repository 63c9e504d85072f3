// The constants that nodes take as sizes: where they hold a size that changes, and what they are to
// hold then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/name_table.hpp"

namespace onnxmap::surgery {

/// A number, or a name; neither: the dimension is unknown.
struct NewDim {
    std::optional<std::int64_t> value;
    std::string param;

    bool operator==(const NewDim&) const = default;
};

/// What becomes of the numbers in the shapes of inputs.
struct ChangedSizes {
    /// By the number before, then by the axis, which counts from the front, and as a negative
    /// number from the end. Nothing: inputs contradict each other.
    std::map<std::int64_t, std::map<std::int64_t, std::optional<NewDim>>> changed;
    std::set<std::int64_t> kept;  // the numbers of dimensions that stay
};

/// An input of a node that is a constant with a size that changes.
struct SizePlace {
    std::string path;
    onnx::Message user;
    std::uint32_t input;
    onnx::Message body;   // the graph or function that has the constant
    onnx::Message maker;  // a TensorProto, or a Constant node
    bool is_state;        // a tensor with a dimension that changes, not a list of sizes
    /// New numbers of the list, or dimensions of the state, by position. Empty: what the constant
    /// is to hold is not certain.
    std::vector<std::pair<std::int64_t, std::int64_t>> changes = {};
};

/// An operator that takes sizes as inputs, and which inputs these are.
struct TakesSizes {
    enum class As : std::uint8_t {
        size,
        repeats,   // 1 changes nothing
        copies,    // how many of them
        position,  // in a dimension, or in parts of one
        state      // a dimension of a tensor
    };
    std::string_view op_type;
    std::uint32_t first;
    std::uint32_t last;
    As as = As::size;
};

/// Null for an operator that takes none.
[[nodiscard]] const TakesSizes* sizes_taken_by(std::string_view op_type, std::string_view domain);

class SizePlaces {
  public:
    SizePlaces(const model::Document& document, const ChangedSizes& sizes)
        : document_(document), sizes_(sizes) {}

    /// The node that makes a value, and its position.
    using FindNode =
        std::function<std::optional<std::pair<onnx::Message, std::uint64_t>>(std::string_view)>;

    /// Enters a graph or function: its nodes see its values, and those of the graphs around it.
    /// The inputs of an outermost one are no constants. `find_node` spares a walk over the nodes.
    void enter(const onnx::Message& body, const std::string& path, bool is_outermost,
               FindNode find_node = nullptr) {
        scopes_.push_back({body, path, is_outermost, std::move(find_node)});
    }
    void leave() { scopes_.pop_back(); }
    /// Nothing is certain in the body that was entered last: it is run with other sizes, too.
    void only_list() { scopes_.back().is_listed_only = true; }

    /// Finds the constants that a node of the innermost body takes as sizes, or of which operators
    /// make these. `has_batch`: the node's first input has the batch of an input of the model.
    /// Throws Error `limit.text_bytes` if the paths of all places are too long together.
    void find(const onnx::Message& node, std::uint64_t position, const TakesSizes& takes,
              bool has_batch);

    [[nodiscard]] const std::vector<SizePlace>& found() const noexcept { return found_; }
    /// Whether a value is a state, or becomes one.
    [[nodiscard]] bool is_state(std::string_view value) const { return states_.contains(value); }

  private:
    using As = TakesSizes::As;
    struct Maker {
        onnx::Message message;
        std::uint64_t position;  // of a node
        std::set<As> followed = {};
        std::optional<std::vector<std::int64_t>> numbers = std::nullopt;  // once they were read
    };
    using Makers = model::NameMap<Maker>;
    struct Scope {
        onnx::Message body;
        std::string path;
        bool is_outermost;
        FindNode find_node;
        bool is_listed_only = false;
        std::optional<Makers> makers = std::nullopt;
    };
    // An input of a node, where a constant is looked for.
    struct Step {
        onnx::Message user;
        std::string_view name;
        std::uint64_t position;  // of the user, in its scope
        std::size_t scope;
        std::uint32_t input;
        As as;
        std::int64_t front = 0;  // how many numbers of the list of sizes are in front of these
        std::optional<std::int64_t> axis = std::nullopt;  // of the only size that counts
        bool is_whole = true;                             // no other list is joined to these
        bool is_part = false;                             // only one of them is taken
        bool may_infer = false;                           // -1 may take the place of a size
        bool hides_errors = false;                        // another list of these has -1
        bool has_batch = false;                           // a 1 may be the batch
    };

    static Makers makers_in(const Scope& scope);
    [[nodiscard]] std::pair<std::size_t, Maker*> find_maker(std::string_view name,
                                                            std::size_t scope);
    [[nodiscard]] const std::vector<std::int64_t>& numbers_of(Maker& maker) const;
    void look_at(const Step& step, std::size_t scope, Maker& maker);
    [[nodiscard]] bool pass(const Step& step, std::size_t scope, Maker& maker);
    [[nodiscard]] bool find_in_list(const Step& step, const std::vector<std::int64_t>& numbers,
                                    SizePlace& place) const;
    [[nodiscard]] bool find_in_state(const Step& step, const std::vector<std::int64_t>& numbers,
                                     SizePlace& place) const;
    [[nodiscard]] bool is_batch(std::int64_t number) const;
    [[nodiscard]] const NewDim* after(std::int64_t before, std::optional<std::int64_t> axis) const;

    const model::Document& document_;
    const ChangedSizes& sizes_;
    std::vector<Scope> scopes_;  // around the node that is looked at, the innermost last
    std::vector<Step> waiting_;
    std::vector<SizePlace> found_;
    std::set<std::pair<const std::uint8_t*, std::uint32_t>> places_;  // nodes and inputs
    model::NameSet states_;
    std::uint64_t text_left_ = document_.limits().text_bytes;
};

}  // namespace onnxmap::surgery
