// Edits of the initializers of a graph. A tensor that is stored in segments is several of the list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "edit/handle.hpp"
#include "model/initializers.hpp"

namespace onnxmap::edit {

/// An initializer, and the positions of its segments in the list, ascending.
struct Initializer {
    Handle tensor;  // the first segment
    std::vector<std::uint64_t> positions;
};

/// The initializer whose first segment is at a position. For callers with a guard.
[[nodiscard]] Initializer initializer_at(const Handle& graph, const model::Initializers& list,
                                         std::uint32_t position);

/// Whether two tensors have the same element type and shape.
[[nodiscard]] bool is_alike(const Handle& a, const Handle& b);

/// Gives an initializer the values of a new tensor; or, if there is none before, adds the tensor
/// under a name. As in a dict, an object of the tensor that was there stays what it was.
void put_initializer(const Handle& graph, std::string_view name, const Handle& made,
                     const std::optional<Initializer>& before);

}  // namespace onnxmap::edit
