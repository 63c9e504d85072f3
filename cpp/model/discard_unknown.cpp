#include "base/error.hpp"
#include "model/copy_message.hpp"
#include "model/edit_message.hpp"
#include "model/unknown_fields.hpp"

namespace onnxmap::model {

using onnx::Pieces;

namespace {

void discard_unknown(const Document& document, const onnx::Message& message,
                     std::uint32_t depth_left) {
    if (depth_left == 0) fail_edited_too_deep();
    bool has_unknown = false;
    Pieces::Rows retired = 0;
    Pieces::Rows singular = 0;
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (is_unknown(row)) {
            has_unknown = true;
            if (row != nullptr) retired |= Pieces::rows(message.table(), *row);
        } else if (row->is_message() && row->repeated()) {
            discard_unknown(document, message.inner(*row, field), depth_left - 1);
        } else if (row->is_message()) {
            singular |= Pieces::rows(message.table(), *row);
        }
    });
    for (const wire::FieldRow& row : message.table().fields) {
        if ((singular & Pieces::rows(message.table(), row)) == 0) continue;
        if (const auto child = message.child(row)) {
            discard_unknown(document, *child, depth_left - 1);
        }
    }
    if (!has_unknown) return;
    const auto fields = fields_of(message)->known();
    document.editable().set(message, fields->replace(retired, std::nullopt, {}), retired);
}

}  // namespace

void discard_unknown(const Document& document, const onnx::Message& message) {
    check_editable(document, message);
    discard_unknown(document, message, document.limits().depth + 1);
}

}  // namespace onnxmap::model
