// All dimensions in the types that a message has.
#pragma once

#include <cstdint>

#include "onnx/holders.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

inline constexpr const wire::FieldRow& kDims = onnx::field<"TensorShapeProto.dim">;
inline constexpr onnx::Holders kHoldDims =
    onnx::find_holders([](const wire::FieldRow& row) { return &row == &kDims; });

/// Calls visit(dim) for each dimension in a message.
template <class Visit>
void for_each_dim(const onnx::Message& message, std::uint32_t depth_left, Visit&& visit) {
    if (depth_left == 0) onnx::fail_too_deep(message);
    onnx::Pieces::Rows present = 0;
    message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == nullptr || !row->is_message()) return;
        if (row == &kDims) {
            visit(message.inner(*row, each));
        } else if (!kHoldDims[row->type_index]) {
            return;
        } else if (row->repeated()) {
            for_each_dim(message.inner(*row, each), depth_left - 1, visit);
        } else {
            present |= onnx::Pieces::rows(message.table(), *row);
        }
    });
    if (present == 0) return;
    for (const wire::FieldRow& row : message.table().fields) {
        if ((present & onnx::Pieces::rows(message.table(), row)) == 0) continue;
        if (const auto child = message.child(row)) for_each_dim(*child, depth_left - 1, visit);
    }
}

}  // namespace onnxmap::surgery
