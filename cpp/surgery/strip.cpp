#include "surgery/strip.hpp"

#include "model/edit_message.hpp"
#include "onnx/holders.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using onnx::Message;

namespace {

class Stripping {
  public:
    Stripping(const model::Document& document, const Words& words)
        : document_(document), words_(words) {}

    void enter(const Message& message, std::uint32_t depth_left) {
        if (depth_left == 0) onnx::fail_too_deep(message);
        onnx::Pieces::Rows gone = 0;
        message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
            if (row == nullptr) return;
            if (goes(*row)) {
                gone |= onnx::Pieces::rows(message.table(), *row);
            } else if (row->repeated() && row->is_message() && holds_[row->type_index]) {
                enter(message.inner(*row, field), depth_left - 1);
            }
        });
        for (const wire::FieldRow& row : message.table().fields) {
            if ((gone & onnx::Pieces::rows(message.table(), row)) != 0) {
                model::clear(document_, message.current(), row);
            } else if (!row.repeated() && row.is_message() && holds_[row.type_index]) {
                if (const auto child = message.child(row)) enter(*child, depth_left - 1);
            }
        }
    }

  private:
    [[nodiscard]] bool goes(const wire::FieldRow& row) const {
        return (words_.doc_strings && row.name == "doc_string") ||
               (words_.metadata && row.name == "metadata_props") ||
               (words_.value_infos && row.name == "value_info");
    }

    const model::Document& document_;
    const Words& words_;
    onnx::Holders holds_ =
        onnx::find_holders([this](const wire::FieldRow& row) { return goes(row); });
};

}  // namespace

void strip(const model::Document& document, const Words& words) {
    run_verb(document, [&] {
        Stripping(document, words).enter(document.root(), document.limits().depth + 1);
    });
}

}  // namespace onnxmap::surgery
