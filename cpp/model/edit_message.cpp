#include "model/edit_message.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/copy_message.hpp"
#include "model/unknown_fields.hpp"
#include "onnx/schema.hpp"
#include "source/read_guard.hpp"
#include "wire/writer.hpp"

namespace onnxmap::model {

using onnx::EncodedField;
using onnx::Pieces;

namespace {

// A field, and the other members of its oneof.
Pieces::Rows with_siblings(const wire::MessageTable& table, const wire::FieldRow& row) {
    Pieces::Rows rows = Pieces::rows(table, row);
    for (const wire::FieldRow& other : table.fields) {
        if (!row.oneof.empty() && other.oneof == row.oneof) rows |= Pieces::rows(table, other);
    }
    return rows;
}

void remove_messages(const Document& document, const onnx::Message& message, Pieces::Rows rows) {
    for (const wire::FieldRow& row : message.table().fields) {
        if (!row.is_message() || (Pieces::rows(message.table(), row) & rows) == 0) continue;
        if (row.repeated()) {
            message.for_each_child(
                row, [&](const onnx::Message& child) { document.editable().remove(child); });
        } else if (const auto child = message.child(row)) {
            document.editable().remove(*child);
        }
    }
}

EncodedField encoded(const Document& document, const wire::FieldRow& row, const NewValue& value) {
    if (!value.source) return {document.editable().keep(value.encoded), &row};
    return held_field(document, row, value.source, value.content);
}

std::vector<EncodedField> encoded(const Document& document, const wire::FieldRow& row,
                                  std::span<const NewValue> values) {
    std::vector<EncodedField> made;
    made.reserve(values.size());
    for (const NewValue& value : values) made.push_back(encoded(document, row, value));
    return made;
}

// Puts a value, which is in the document's memory, into a singular field. Clears the other members
// of its oneof. `place`: see Pieces::replace().
void put(const Document& document, const onnx::Message& message, const Pieces& fields,
         std::optional<Pieces::Place> place, const EncodedField& value) {
    const Pieces::Rows replaced = with_siblings(message.table(), *value.row);
    remove_messages(document, message, replaced);
    document.editable().set(message, fields.replace(replaced, place, {&value, 1}), replaced);
}

// The callers guard the reads of `document` only.
Copied guarded_copy(const Document& document, const wire::FieldRow& row, const Original& original,
                    const Rewrite* rewrite = nullptr) {
    return source::guard_reads(original.document.source(),
                               [&] { return copy_message(document, row, original, rewrite); });
}

// A copy that is about to be in a list of a message.
onnx::Message note_added(const Document& document, const onnx::Message& message,
                         const wire::FieldRow& list, const Copied& copy) {
    onnx::Message made(onnx::kSchema.message_of(list), copy.content, &document.edits());
    document.editable().note_added(made, message, list);
    return made;
}

// The place behind the last occurrence of a field; nothing if there is none.
std::optional<Pieces::Place> behind(const Pieces& fields, const wire::FieldRow& row) {
    auto place = fields.find_last(row);
    if (place) ++place->index;
    return place;
}

}  // namespace

bool is_text_held(const wire::FieldRow& row) noexcept {
    if (row.type == wire::Type::bytes) return true;
    return row.type == wire::Type::string &&
           (row.name == "doc_string" || &row == &onnx::field<"StringStringEntryProto.value">);
}

NewValue text_value(const wire::FieldRow& row, std::string_view text) {
    NewValue value;
    wire::write_head(value.encoded, row.number, text.size());
    value.encoded += text;
    return value;
}

void check_editable(const Document& document, const onnx::Message& message) {
    if (!document.edits().is_removed(message)) return;
    throw Error("edit.removed", {"the ", message.table().name,
                                 " was removed from its model and cannot be changed; add a "
                                 "copy of it, and change that"});
}

std::shared_ptr<const onnx::Pieces> editable_fields(const Document& document,
                                                    const onnx::Message& message) {
    check_editable(document, message);
    return fields_of(message);
}

void set_value(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
               const NewValue& value) {
    const auto fields = editable_fields(document, message);
    put(document, message, *fields, fields->find_last(row), encoded(document, row, value));
}

void set_values(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
                std::span<const NewValue> values) {
    const auto fields = editable_fields(document, message);
    const auto made = encoded(document, row, values);
    const Pieces::Rows replaced = Pieces::rows(message.table(), row);
    document.editable().set(message, fields->replace(replaced, fields->find_from(row, {}), made),
                            replaced);
}

void splice_values(const Document& document, const onnx::Message& message,
                   const wire::FieldRow& row, std::uint64_t first, std::uint64_t count,
                   std::span<const NewValue> values) {
    auto fields = editable_fields(document, message);
    const auto made = encoded(document, row, values);
    const std::uint64_t end = first + count;
    const auto place = end < fields->count(row) ? fields->find(row, end) : behind(*fields, row);
    fields = fields->replace(0, place, made);
    std::vector<std::uint64_t> gone(count);
    std::iota(gone.begin(), gone.end(), first);
    document.editable().set(message, fields->erase(row, gone), Pieces::rows(message.table(), row));
}

void append_values(const Document& document, const onnx::Message& message,
                   const wire::FieldRow& row, std::span<const NewValue> values) {
    check_editable(document, message);
    if (values.empty()) return;
    const auto fields = fields_of(message);
    // A small packed run grows. A second run is read as well, but other readers expect one.
    if (row.packed && fields->count(row) == 1 && values.size() == 1) {
        const wire::Field last = fields->field_at(fields->find(row, 0));
        const auto run_of = [&](const NewValue& value) -> std::optional<ByteView> {
            if (value.source) return value.content;
            const onnx::Message added(message.table(), as_bytes(value.encoded));
            const wire::Field field = *added.find(row);
            if (field.type != wire::WireType::length_delimited) return std::nullopt;
            return field.bytes;
        };
        const auto added = run_of(values.front());
        if (last.type == wire::WireType::length_delimited && added &&
            last.bytes.size() < kLeastHeld) {
            const ByteView more = *added;
            std::vector<std::uint8_t> run(last.bytes.size());
            document.read(last.bytes, run);
            NewValue whole;
            wire::write_head(whole.encoded, row.number, run.size() + more.size());
            whole.encoded += as_text(run);
            whole.encoded += as_text(more);
            set_values(document, message, row, {&whole, 1});
            return;
        }
    }
    const auto made = encoded(document, row, values);
    document.editable().set(message, fields->replace(0, behind(*fields, row), made),
                            Pieces::rows(message.table(), row));
}

void clear(const Document& document, const onnx::Message& message, const wire::FieldRow& row) {
    const auto fields = editable_fields(document, message);
    if (fields->count(row) == 0) return;
    if (!row.oneof.empty() && message.which(row.oneof) != &row) return;
    // An earlier occurrence of another member of the oneof would be set then.
    const Pieces::Rows rows = with_siblings(message.table(), row);
    remove_messages(document, message, rows);
    document.editable().set(message, fields->replace(rows, std::nullopt, {}), rows);
}

void clear(const Document& document, const onnx::Message& message,
           std::span<const wire::FieldRow* const> rows) {
    for (const auto* const row : rows) clear(document, message.current(), *row);
}

void clear_all(const Document& document, const onnx::Message& message) {
    const auto before = editable_fields(document, message);
    remove_messages(document, message, ~Pieces::Rows{0});
    document.editable().set(message, Pieces::Builder(message.table(), before->merged()).finish(),
                            ~Pieces::Rows{0});
}

std::vector<onnx::Message> splice_messages(const Document& document, const onnx::Message& message,
                                           const wire::FieldRow& row,
                                           std::span<const Insertion> added,
                                           std::span<const std::uint64_t> gone) {
    check_editable(document, message);
    std::vector<EncodedField> encoded;
    std::vector<Copied> made;
    for (const Insertion& each : added) {
        made.push_back(guarded_copy(document, row, each.original, each.rewrite));
        encoded.push_back({made.back().field, &row});
    }
    auto fields = fields_of(message);
    // From the back: the positions before stay what they are.
    const std::uint64_t count = fields->count(row);
    std::vector<Pieces::Place> places;
    const auto before = fields;
    fields = fields->erase(row, gone, &places);
    std::vector<onnx::Message> removed;
    removed.reserve(places.size());
    std::vector<std::size_t> runs;  // where messages begin whose fields stand one behind the other
    const std::uint8_t* last = nullptr;
    for (const auto place : places) {
        const wire::Field field = before->field_at(place);
        if (field.begin != last) runs.push_back(removed.size());
        removed.push_back(message.inner(row, field));
        last = field.end;
    }
    runs.push_back(removed.size());
    for (std::size_t end = added.size(); end > 0;) {
        std::size_t begin = end - 1;
        const std::uint64_t i = added[begin].i;
        while (begin > 0 && added[begin - 1].i == i) --begin;
        const auto gone_before = std::ranges::lower_bound(gone, i) - gone.begin();
        const std::uint64_t now = std::min(i, count) - static_cast<std::uint64_t>(gone_before);
        const auto place = now < fields->count(row) ? fields->find(row, now) : behind(*fields, row);
        fields = fields->replace(0, place, std::span(encoded).subspan(begin, end - begin));
        end = begin;
    }
    // Only now: a copy that fails must leave nothing that an index would follow.
    std::vector<onnx::Message> copies;
    copies.reserve(made.size());
    for (const Copied& copy : made) copies.push_back(note_added(document, message, row, copy));
    for (std::size_t i = 0; i < added.size(); ++i) {
        const auto at = std::ranges::lower_bound(gone, added[i].i);
        if (at == gone.end() || *at != added[i].i) continue;
        document.editable().note_replacement(copies[i],
                                             removed[static_cast<std::size_t>(at - gone.begin())]);
    }
    for (std::size_t i = 1; i < runs.size(); ++i) {
        document.editable().remove(std::span(removed).subspan(runs[i - 1], runs[i] - runs[i - 1]));
    }
    document.editable().set(message, fields, Pieces::rows(message.table(), row));
    return copies;
}

void erase(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
           std::span<const std::uint64_t> positions) {
    splice_messages(document, message, row, {}, positions);
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

void set_message(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
                 const Original& original) {
    const auto fields = editable_fields(document, message);
    const Copied copy = guarded_copy(document, row, original);
    put(document, message, *fields, fields->find_last(row), {copy.field, &row});
}

onnx::Message insert(const Document& document, const onnx::Message& message,
                     const wire::FieldRow& row, std::uint64_t i,
                     const std::optional<Original>& original) {
    const auto fields = editable_fields(document, message);
    const Copied copy =
        original ? guarded_copy(document, row, *original) : empty_message(document, row);
    const EncodedField field{copy.field, &row};
    const auto place = i < fields->count(row) ? fields->find(row, i) : behind(*fields, row);
    onnx::Message made = note_added(document, message, row, copy);
    document.editable().set(message, fields->replace(0, place, {&field, 1}),
                            Pieces::rows(message.table(), row));
    return made;
}

onnx::Message make_present(const Document& document, const onnx::Message& message,
                           const wire::FieldRow& row) {
    if (auto child = message.child(row)) return *std::move(child);
    const auto fields = editable_fields(document, message);
    const Copied copy = empty_message(document, row);
    put(document, message, *fields, std::nullopt, {copy.field, &row});
    return {onnx::kSchema.message_of(row), copy.content, &document.edits()};
}

namespace {

void merge(const Document& document, const onnx::Message& message, const Original& original,
           std::uint32_t depth_left) {
    if (depth_left == 0) fail_edited_too_deep();
    auto fields = editable_fields(document, message);
    const onnx::Message from = original.message;
    Pieces::Rows replaced = 0;  // by singular fields
    std::vector<EncodedField> singular;
    std::vector<EncodedField> unknown;
    std::vector<const wire::FieldRow*> inner;
    std::vector<std::pair<const wire::FieldRow*, Copied>> made;
    Pieces::Rows changed = 0;
    from.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row != nullptr) changed |= Pieces::rows(message.table(), *row);
        if (is_unknown(row)) {
            unknown.push_back({document.editable().keep(as_text({field.begin, field.end})), row});
        }
    });
    for (const wire::FieldRow& row : message.table().fields) {
        if (row.repeated() || row.retired) continue;
        if (row.is_message()) {
            if (from.child(row)) inner.push_back(&row);
        } else if (const auto value = from.find(row)) {
            replaced |= with_siblings(message.table(), row);
            singular.push_back(copy_field(document, row, *value, original.document));
        }
    }
    remove_messages(document, message, replaced);
    fields = fields->replace(replaced, std::nullopt, singular);
    for (const wire::FieldRow& row : message.table().fields) {
        if (!row.repeated() || row.retired) continue;
        std::vector<EncodedField> added;
        from.for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
            if (known != &row) return;
            if (row.is_message()) {
                const Original child{original.document, from.inner(row, field)};
                made.emplace_back(&row, copy_message(document, row, child));
                added.push_back({made.back().second.field, &row});
            } else {
                added.push_back(copy_field(document, row, field, original.document));
            }
        });
        if (!added.empty()) fields = fields->replace(0, behind(*fields, row), added);
    }
    fields = fields->replace(0, std::nullopt, unknown);
    for (const auto& [row, copy] : made) note_added(document, message, *row, copy);
    document.editable().set(message, fields, changed | replaced);
    for (const wire::FieldRow* row : inner) {
        const onnx::Message child = make_present(document, message.current(), *row);
        merge(document, child, {original.document, *from.child(*row)}, depth_left - 1);
    }
}

}  // namespace

void merge_from(const Document& document, const onnx::Message& message, const Original& original) {
    source::guard_reads(original.document.source(),
                        [&] { merge(document, message, original, document.limits().depth + 1); });
}

}  // namespace onnxmap::model
