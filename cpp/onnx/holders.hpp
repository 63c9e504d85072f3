// Which messages may hold something, so that a walk leaves out the others.
#pragma once

#include <array>

#include "onnx/schema.hpp"

namespace onnxmap::onnx {

using Holders = std::array<bool, detail::kMessageCount>;

/// For each message type, whether it, or a message in it, has a field that is wanted: a fixed point
/// of the schema.
template <class IsWanted>
[[nodiscard]] constexpr Holders find_holders(const IsWanted& is_wanted) {
    Holders holds{};
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < holds.size(); ++i) {
            for (const wire::FieldRow& row : kSchema.messages[i].fields) {
                const bool has = is_wanted(row) || (row.is_message() && holds[row.type_index]);
                if (has && !holds[i]) holds[i] = changed = true;
            }
        }
    }
    return holds;
}

}  // namespace onnxmap::onnx
