// Which node of one graph is which node of another.
#pragma once

#include <cstdint>

#include "compare/field_values.hpp"
#include "compare/list_matching.hpp"

namespace onnxmap::compare {

struct NodeMatching {
    Matching matching;
    std::uint32_t same_first = 0;  // that many nodes at the beginning are identical
    std::uint32_t same_last = 0;   // and that many at the end
};

/// Matches the nodes at both ends that are identical, then nodes by unique names, by content, by
/// their first output, by repeated names in order, and nodes without a name by their operator and
/// the nodes around them. Without `has_names`, no node counts as named.
[[nodiscard]] NodeMatching match_nodes(const model::Document& document_a, const Elements& a,
                                       const model::Document& document_b, const Elements& b,
                                       std::uint32_t depth_left, bool has_names);

}  // namespace onnxmap::compare
