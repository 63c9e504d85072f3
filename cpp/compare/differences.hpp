// What differs between two models, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "onnx/message.hpp"

namespace onnxmap::compare {

/// What is no difference, besides what never is one: see model_difference.hpp.
struct Options {
    // Two numbers are the same if |a - b| <= absolute + relative * |b|, as for NumPy's isclose.
    double absolute = 0;
    double relative = 0;
    bool ignores_metadata = false;  // metadata_props, and who made the model
    bool ignores_docs = false;      // doc_string
    bool ignores_names = false;     // of nodes and graphs
    bool casts = false;             // between floating-point types: values are compared

    [[nodiscard]] bool is_exact() const noexcept { return absolute == 0 && relative == 0; }
};

enum class Kind : std::uint8_t { added, removed, moved, changed };

/// The parts of a model that are reported separately.
enum class Section : std::uint8_t {
    metadata,
    opset_imports,
    inputs,
    outputs,
    nodes,
    functions,
    tensors,
    other,
};
inline constexpr std::size_t kSections = 8;

/// Text of the model; it need not be UTF-8.
struct Text {
    std::string text;
};
struct Bytes {
    std::string bytes;
};

using Scalar = std::variant<std::int64_t, double, Text, Bytes>;

/// The first values of a repeated field.
struct List {
    static constexpr std::size_t kMost = 1000;

    std::vector<Scalar> values;
    bool cut = false;  // the field has more than kMost values
};

/// The value of a field. Nothing if the field is absent or holds a message.
using Value = std::variant<std::monostate, Scalar, List>;

/// One field, element or message that differs.
struct Change {
    Kind kind;
    std::string in_a;  // the path in the first model; empty if it is not there
    std::string in_b;
    Value a;
    Value b;
};

/// A number that a difference has: exact for integers.
using Number = std::variant<std::uint64_t, double>;

/// The largest difference, and the element that has it.
struct Largest {
    Number number = 0.0;
    std::uint64_t at = 0;
};

/// The elements that differ in two tensors of one type and shape.
struct ElementDifference {
    std::uint64_t count = 0;
    std::uint64_t changed = 0;      // elements with other bits, or another text
    std::uint64_t nan_changed = 0;  // of these, elements that are NaN in one tensor only
    std::optional<Largest> absolute;
    std::optional<Largest> relative;
};

/// A tensor of both models, or of one.
struct TensorDifference {
    struct Side {
        std::string name;
        std::int32_t data_type = 0;
        std::vector<std::int64_t> dims;
    };
    std::optional<Side> a;
    std::optional<Side> b;
    bool renamed = false;
    std::optional<ElementDifference> elements;  // if they were compared
    std::string failure;                        // why they could not be compared
};

/// A node, function, input, output or tensor that differs.
struct Item {
    Section section;
    std::string in_a;  // its path in the first model; empty if it is not there
    std::string in_b;
    std::string name;
    std::string name_in_b;
    std::string op_type;  // of a node
    std::string op_type_in_b;
    bool moved = false;
    std::vector<Change> changes = {};  // their paths begin at the item
    std::optional<TensorDifference> tensor = std::nullopt;

    [[nodiscard]] bool is_difference() const noexcept {
        return moved || in_a.empty() || in_b.empty() || !changes.empty() || tensor.has_value();
    }
};

struct Differences {
    std::vector<std::pair<Section, Change>> changes;  // outside of items
    std::vector<Item> items;
    /// Differences that were found but are not listed: the list would take more memory than the
    /// models justify.
    std::uint64_t left_out = 0;
};

}  // namespace onnxmap::compare
