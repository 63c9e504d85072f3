// All dimensions in the types that a message has.
#pragma once

#include <cstdint>

#include "onnx/holders.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

/// Calls visit(dim) for each dimension in a message.
class DimWalk {
  public:
    static constexpr const wire::FieldRow& kDims = onnx::field<"TensorShapeProto.dim">;

    template <class Visit>
    void enter(const onnx::Message& message, std::uint32_t depth_left, Visit&& visit) const {
        if (depth_left == 0) onnx::fail_too_deep(message);
        onnx::Pieces::Rows present = 0;
        message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
            if (row == nullptr || !row->is_message() || !may_hold(*row)) return;
            if (row == &kDims) {
                visit(message.inner(*row, each));
            } else if (row->repeated()) {
                enter(message.inner(*row, each), depth_left - 1, visit);
            } else {
                present |= onnx::Pieces::rows(message.table(), *row);
            }
        });
        if (present == 0) return;
        for (const wire::FieldRow& row : message.table().fields) {
            if ((present & onnx::Pieces::rows(message.table(), row)) == 0) continue;
            if (const auto child = message.child(row)) enter(*child, depth_left - 1, visit);
        }
    }

  private:
    [[nodiscard]] bool may_hold(const wire::FieldRow& row) const {
        return &row == &kDims || holds_[row.type_index];
    }

    onnx::Holders holds_ =
        onnx::find_holders([](const wire::FieldRow& row) { return &row == &kDims; });
};

}  // namespace onnxmap::surgery
