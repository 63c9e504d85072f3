#include "save/tensor_edits.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/copy_message.hpp"
#include "onnx/schema.hpp"
#include "wire/writer.hpp"

namespace onnxmap::save {

using onnx::EncodedField;
using onnx::field;
using onnx::Pieces;

namespace {

constexpr std::uint64_t kExternal = 1;  // TensorProto.DataLocation.EXTERNAL

constexpr std::string_view kPrepacked = "prepacked";

// The entries of external_data that say nothing about the place or the state of the data file, and
// that therefore stay when the values move. Those that begin with kPrepacked are places in the data
// file, too: onnxruntime keeps weights there in the layout of its kernels.
TensorEdits::Metadata other_entries(const onnx::Message& tensor) {
    constexpr std::array<std::string_view, 5> kOfPlace = {"location", "offset", "length",
                                                          "checksum", "basepath"};
    TensorEdits::Metadata entries;
    tensor.for_each_child(field<"TensorProto.external_data">, [&](const onnx::Message& entry) {
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

std::string varint_field(const wire::FieldRow& row, std::uint64_t value) {
    std::string encoded;
    wire::write_tag(encoded, row.number, row.wire_type());
    wire::write_varint(encoded, value);
    return encoded;
}

// The content of a NodeProto.
std::string cast_node(const TypeChange& change) {
    constexpr std::uint64_t kInt = 2;  // AttributeProto.AttributeType.INT
    const std::string to =
        model::text_value(field<"AttributeProto.name">, "to").encoded +
        varint_field(field<"AttributeProto.i">, static_cast<std::uint64_t>(change.of_value->type)) +
        varint_field(field<"AttributeProto.type">, kInt);
    return model::text_value(field<"NodeProto.input">, change.name).encoded +
           model::text_value(field<"NodeProto.output">, change.old_name).encoded +
           model::text_value(field<"NodeProto.name">, change.name).encoded +
           model::text_value(field<"NodeProto.op_type">, "Cast").encoded +
           model::text_value(field<"NodeProto.attribute">, to).encoded;
}

}  // namespace

TensorEdits::TensorEdits(const model::Document& document)
    : document_(document),
      edits_(document.edits().any() ? document.edits().messages_in(document.root())
                                    : model::EditedFields()) {}

EncodedField TensorEdits::text_field(const wire::FieldRow& row, std::string_view text) {
    return {memory_.keep(model::text_value(row, text).encoded), &row};
}

EncodedField TensorEdits::entry_field(const wire::FieldRow& row, std::string_view key,
                                      std::string_view value) {
    return text_field(row,
                      model::text_value(field<"StringStringEntryProto.key">, key).encoded +
                          model::text_value(field<"StringStringEntryProto.value">, value).encoded);
}

void TensorEdits::make_external(const onnx::Message& tensor, std::string_view location,
                                std::uint64_t offset, std::uint64_t nbytes,
                                std::string_view checksum) {
    const wire::FieldRow& entries = field<"TensorProto.external_data">;
    const wire::FieldRow& kind = field<"TensorProto.data_location">;
    std::vector<EncodedField> added = {
        entry_field(entries, "location", location),
        entry_field(entries, "offset", std::to_string(offset)),
        entry_field(entries, "length", std::to_string(nbytes)),
    };
    if (!checksum.empty()) added.push_back(entry_field(entries, "checksum", checksum));
    for (const auto& [key, value] : other_entries(tensor)) {
        added.push_back(entry_field(entries, key, value));
    }
    added.push_back({memory_.keep(varint_field(kind, kExternal)), &kind});
    edits_[tensor.key()] = model::fields_of(tensor)->replace(value_rows(), std::nullopt, added);
}

void TensorEdits::make_inline(const onnx::Message& tensor, const tensor::Payload& values) {
    const wire::FieldRow& row = field<"TensorProto.raw_data">;
    std::string head;
    wire::write_head(head, row.number, values.nbytes);
    const ByteView bytes{values.source->addresses() + values.offset, values.nbytes};
    const EncodedField raw_data{memory_.keep(head), &row, memory_.hold(values.source, bytes)};
    edits_[tensor.key()] =
        model::fields_of(tensor)->replace(value_rows(), std::nullopt, {&raw_data, 1});
}

void TensorEdits::change_type(const onnx::Message& tensor, const TypeChange& change) {
    const wire::FieldRow& type = field<"TensorProto.data_type">;
    const wire::FieldRow& name = field<"TensorProto.name">;
    const EncodedField made[] = {
        {memory_.keep(varint_field(type, static_cast<std::uint64_t>(change.to->type))), &type},
        text_field(name, change.name)};
    const auto rows = Pieces::rows(tensor.table(), type) | Pieces::rows(tensor.table(), name);
    auto& fields = edits_.at(tensor.key());
    fields = fields->replace(rows, std::nullopt, made);
}

void TensorEdits::add_casts(const TypeChanges::OfGraph& changed, const TypeChanges& changes) {
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    std::vector<EncodedField> added;
    added.reserve(changed.tensors.size());
    for (const std::uint8_t* const key : changed.tensors) {
        const TypeChange& change = changes.by_tensor.at(key);
        if (change.name != change.old_name) added.push_back(text_field(nodes, cast_node(change)));
    }
    const std::vector<std::uint64_t> gone(changed.old_casts.begin(), changed.old_casts.end());
    const auto fields = model::fields_of(changed.graph)->erase(nodes, gone);
    const auto place =
        fields->count(nodes) == 0 ? std::nullopt : std::optional(fields->find(nodes, 0));
    edits_[changed.graph.key()] = fields->replace(0, place, added);
}

void TensorEdits::replace_text(const onnx::Message& message, const wire::FieldRow& row,
                               std::string_view text) {
    const EncodedField made = text_field(row, text);
    edits_[message.key()] = model::fields_of(message)->replace(Pieces::rows(message.table(), row),
                                                               std::nullopt, {&made, 1});
}

void TensorEdits::replace_metadata(const onnx::Message& model, std::string_view prefix,
                                   const Metadata& entries) {
    const wire::FieldRow& row = field<"ModelProto.metadata_props">;
    std::vector<std::uint64_t> old;
    std::uint64_t ordinal = 0;
    document_.index(model)->for_each_child(row, [&](const onnx::Message& entry) {
        if (entry.text(field<"StringStringEntryProto.key">).starts_with(prefix)) {
            old.push_back(ordinal);
        }
        ++ordinal;
    });
    if (old.empty() && entries.empty()) return;
    std::vector<EncodedField> added;
    for (const auto& [key, value] : entries) added.push_back(entry_field(row, key, value));
    const auto known = edits_.find(model.key());
    const auto fields = known == edits_.end() ? model::fields_of(model) : known->second;
    edits_[model.key()] = fields->erase(row, old)->replace(0, std::nullopt, added);
}

std::shared_ptr<const source::Source> TensorEdits::source_of(ByteView bytes) const {
    if (auto own = memory_.source_of(bytes)) return own;
    return document_.source_of(bytes);
}

}  // namespace onnxmap::save
