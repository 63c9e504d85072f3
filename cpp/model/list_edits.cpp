// Edits that remove messages of a list or move them.
#include <utility>
#include <vector>

#include "model/copy_message.hpp"
#include "model/edit_message.hpp"

namespace onnxmap::model {

using onnx::EncodedField;
using onnx::Pieces;

void erase(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
           std::span<const std::uint64_t> positions) {
    const auto fields = editable_fields(document, message);
    std::vector<Pieces::Place> places;
    const auto left = fields->erase(row, positions, &places);
    std::vector<onnx::Message> run;  // messages whose fields stand one behind the other
    const std::uint8_t* end = nullptr;
    for (const auto place : places) {
        const wire::Field field = fields->field_at(place);
        if (field.begin != end) {
            document.editable().remove(run);
            run.clear();
        }
        run.push_back(message.inner(row, field));
        end = field.end;
    }
    document.editable().remove(run);
    document.editable().set(message, left, Pieces::rows(message.table(), row));
}

void reorder(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
             std::span<const std::uint64_t> order) {
    const auto fields = editable_fields(document, message);
    // Read in the order of the file: at random, each field would be waited for.
    std::vector<EncodedField> before;
    before.reserve(order.size());
    for (auto place = fields->find_from(row, {}); place; place = fields->find_from(row, *place)) {
        before.push_back(fields->encoded_at(*place));
        ++place->index;
    }
    if (before.size() != order.size()) onnx::fail_edited_meanwhile();
    std::vector<EncodedField> after;
    after.reserve(order.size());
    for (const std::uint64_t i : order) after.push_back(std::move(before.at(i)));
    const Pieces::Rows replaced = Pieces::rows(message.table(), row);
    document.editable().set(message, fields->replace(replaced, fields->find_from(row, {}), after),
                            replaced);
}

}  // namespace onnxmap::model
