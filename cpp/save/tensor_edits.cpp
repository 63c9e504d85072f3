#include "save/tensor_edits.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/copy_message.hpp"
#include "onnx/schema.hpp"
#include "tensor/payload.hpp"
#include "wire/writer.hpp"

namespace onnxmap::save {

using onnx::EncodedField;
using onnx::field;
using onnx::Pieces;

namespace {

constexpr std::uint64_t kExternal = 1;  // TensorProto.DataLocation.EXTERNAL

constexpr std::string_view kPrepacked = "prepacked";

using Entry = std::pair<std::string, std::string>;

// The entries of external_data that say nothing about the place or the state of the data file, and
// that therefore stay when the values move. Those that begin with kPrepacked are places in the data
// file, too: onnxruntime keeps weights there in the layout of its kernels.
std::vector<Entry> other_entries(const onnx::Message& tensor) {
    constexpr std::array<std::string_view, 5> kOfPlace = {"location", "offset", "length",
                                                          "checksum", "basepath"};
    std::vector<Entry> entries;
    tensor.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
        if (row != &field<"TensorProto.external_data">) return;
        const onnx::Message entry = tensor.inner(*row, value);
        const std::string_view key = entry.text(field<"StringStringEntryProto.key">);
        if (std::ranges::find(kOfPlace, key) != kOfPlace.end()) return;
        if (key.starts_with(kPrepacked)) return;
        entries.emplace_back(key, entry.text(field<"StringStringEntryProto.value">));
    });
    return entries;
}

// The fields of a TensorProto that say where its values are, and those that hold them.
Pieces::Rows value_rows() {
    const wire::MessageTable& table = onnx::message<"TensorProto">;
    Pieces::Rows rows = Pieces::rows(table, field<"TensorProto.external_data">) |
                        Pieces::rows(table, field<"TensorProto.data_location">);
    for (const wire::FieldRow& row : table.fields) {
        if ((tensor::kPayloadFields >> row.number & 1) != 0) rows |= Pieces::rows(table, row);
    }
    return rows;
}

}  // namespace

TensorEdits::TensorEdits(const model::Document& document)
    : document_(document),
      edits_(document.edits().any() ? document.edits().messages_in(document.root())
                                    : model::Edits::ByKey()) {}

EncodedField TensorEdits::text_field(const wire::FieldRow& row, std::string_view text) {
    return {memory_.keep(model::text_value(row, text).encoded), &row};
}

EncodedField TensorEdits::entry_field(const wire::FieldRow& row, std::string_view key,
                                      std::string_view value) {
    return text_field(row,
                      model::text_value(field<"StringStringEntryProto.key">, key).encoded +
                          model::text_value(field<"StringStringEntryProto.value">, value).encoded);
}

void TensorEdits::make_external(const onnx::Message& tensor, const DataPlace& place) {
    const wire::FieldRow& entries = field<"TensorProto.external_data">;
    const wire::FieldRow& location = field<"TensorProto.data_location">;
    std::vector<EncodedField> added = {
        entry_field(entries, "location", place.location),
        entry_field(entries, "offset", std::to_string(place.offset)),
        entry_field(entries, "length", std::to_string(place.nbytes)),
    };
    if (!place.checksum.empty()) added.push_back(entry_field(entries, "checksum", place.checksum));
    for (const auto& [key, value] : other_entries(tensor)) {
        added.push_back(entry_field(entries, key, value));
    }
    std::string external;
    wire::write_tag(external, location.number, location.wire_type());
    wire::write_varint(external, kExternal);
    added.push_back({memory_.keep(external), &location});
    edits_[tensor.key()] = model::fields_of(tensor)->replace(value_rows(), std::nullopt, added);
}

void TensorEdits::make_inline(const onnx::Message& tensor,
                              std::shared_ptr<const source::Source> source, ByteView bytes) {
    const wire::FieldRow& row = field<"TensorProto.raw_data">;
    std::string head;
    wire::write_head(head, row.number, bytes.size());
    const EncodedField raw_data{memory_.keep(head), &row, memory_.hold(std::move(source), bytes)};
    edits_[tensor.key()] =
        model::fields_of(tensor)->replace(value_rows(), std::nullopt, {&raw_data, 1});
}

void TensorEdits::add_metadata(const onnx::Message& model, std::string_view key,
                               std::string_view value) {
    const EncodedField entry = entry_field(field<"ModelProto.metadata_props">, key, value);
    edits_[model.key()] = fields_now(model)->replace(0, std::nullopt, {&entry, 1});
}

void TensorEdits::remove_metadata(const onnx::Message& model, std::string_view prefix) {
    const wire::FieldRow& row = field<"ModelProto.metadata_props">;
    std::vector<std::uint64_t> ordinals;
    std::uint64_t ordinal = 0;
    document_.index(model)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message entry = model.inner(row, value);
        if (entry.text(field<"StringStringEntryProto.key">).starts_with(prefix)) {
            ordinals.push_back(ordinal);
        }
        ++ordinal;
    });
    if (!ordinals.empty()) edits_[model.key()] = fields_now(model)->erase(row, ordinals);
}

std::shared_ptr<const Pieces> TensorEdits::fields_now(const onnx::Message& message) const {
    const auto known = edits_.find(message.key());
    return known == edits_.end() ? model::fields_of(message) : known->second;
}

std::shared_ptr<const source::Source> TensorEdits::source_of(ByteView bytes) const {
    if (auto own = memory_.source_of(bytes)) return own;
    return document_.source_of(bytes);
}

}  // namespace onnxmap::save
