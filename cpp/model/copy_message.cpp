#include "model/copy_message.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "wire/writer.hpp"

namespace onnxmap::model {

using onnx::EncodedField;

namespace {

bool stays_in_source(const wire::FieldRow& row, const wire::Field& field) noexcept {
    const bool is_packed = row.packed && field.type == wire::WireType::length_delimited;
    return (is_text_held(row) || is_packed) && field.bytes.size() >= kLeastHeld;
}

// The content of a message, without the large contents of its fields.
class Copy {
  public:
    Copy(const Document& to, const Document& from, const Rewrite* rewrite = nullptr)
        : to_(to), from_(from), rewrite_(rewrite) {}

    struct HeldField {
        std::size_t place;  // in `content`
        EncodedField field;
    };
    struct Owner {
        const wire::MessageTable* table;
        std::size_t begin;  // in `content`
        std::size_t end;
        std::vector<HeldField> fields;
    };

    std::string content;
    std::vector<Owner> owners;  // of large contents

    void add(const onnx::Message& message, const wire::FieldRow& holder, std::uint32_t depth_left) {
        if (depth_left == 0) fail_edited_too_deep();
        const std::size_t begin = content.size();
        std::vector<HeldField> large;
        std::uint32_t present = 0;  // a bit for each singular message that was copied
        const Rewrite::Add add_other = [&](const wire::FieldRow& row, const onnx::Message& original,
                                           const Rewrite& rewrite) {
            const Rewrite* const before = std::exchange(rewrite_, &rewrite);
            add_child(row, original, depth_left);
            rewrite_ = before;
        };
        message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
            if (row != nullptr && row->is_message()) {
                if (rewrite_ != nullptr &&
                    rewrite_->replace(*row, message.inner(*row, field), add_other))
                    return;
                const std::uint32_t bit = std::uint32_t{1} << row->number;
                if (row->repeated()) {
                    add_child(*row, message.inner(*row, field), depth_left);
                } else if ((present & bit) == 0) {
                    present |= bit;
                    const auto child = message.child(*row);
                    if (child) add_child(*row, *child, depth_left);
                }
            } else if (row != nullptr && stays_in_source(*row, field)) {
                large.push_back({content.size(),
                                 held_field(to_, *row, from_.source_of(field.bytes), field.bytes)});
            } else if (!add_rewritten(holder, row, field)) {
                add_field(field);
            }
        });
        if (rewrite_ != nullptr) rewrite_->extend(message, add_other);
        if (!large.empty()) {
            owners.push_back({&message.table(), begin, content.size(), std::move(large)});
        }
    }

    void add_field(const wire::Field& field) {
        const bool is_held = field.begin == field.end;
        if (is_held) wire::write_head(content, field.number, field.bytes.size());
        const ByteView bytes = is_held ? field.bytes : ByteView(field.begin, field.end);
        const std::size_t begin = content.size();
        content.resize(begin + bytes.size());
        from_.read(bytes, {reinterpret_cast<std::uint8_t*>(content.data()) + begin, bytes.size()});
    }

  private:
    [[nodiscard]] bool add_rewritten(const wire::FieldRow& holder, const wire::FieldRow* row,
                                     const wire::Field& field) {
        if (rewrite_ == nullptr || row == nullptr || row->type != wire::Type::string) return false;
        const auto text = rewrite_->text(holder, *row, field.text());
        if (!text) return false;
        wire::write_head(content, row->number, text->size());
        content += *text;
        return true;
    }

    void add_child(const wire::FieldRow& row, const onnx::Message& child,
                   std::uint32_t depth_left) {
        std::string before = std::exchange(content, {});
        const std::size_t first = owners.size();
        add(child, row, depth_left - 1);
        std::string after = std::exchange(content, std::move(before));
        wire::write_head(content, row.number, after.size());
        for (std::size_t i = first; i < owners.size(); ++i) {
            owners[i].begin += content.size();
            owners[i].end += content.size();
            for (HeldField& each : owners[i].fields) each.place += content.size();
        }
        content += after;
    }

    const Document& to_;
    const Document& from_;
    const Rewrite* rewrite_;
};

// Puts a field into the document's memory.
Copied keep_field(const Document& document, const wire::FieldRow& row, std::string_view content) {
    const ByteView bytes = document.editable().keep(text_value(row, content).encoded);
    return {bytes, bytes.last(content.size())};
}

}  // namespace

Copied empty_message(const Document& document, const wire::FieldRow& row) {
    return keep_field(document, row, {});
}

Copied copy_message(const Document& document, const wire::FieldRow& row, const Original& original,
                    const Rewrite* rewrite) {
    Copy copy(document, original.document, rewrite);
    copy.add(original.message, row, document.limits().depth + 1);
    const Copied made = keep_field(document, row, copy.content);
    for (const Copy::Owner& owner : copy.owners) {
        const onnx::Message message(*owner.table,
                                    made.content.subspan(owner.begin, owner.end - owner.begin),
                                    &document.edits());
        onnx::Pieces::Builder fields(*owner.table, nullptr);
        auto next = owner.fields.begin();
        message.for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
            const auto place = static_cast<std::size_t>(field.begin - made.content.data());
            for (; next != owner.fields.end() && next->place <= place; ++next) {
                fields.add(next->field);
            }
            fields.add(ByteView(field.begin, field.end), known);
        });
        for (; next != owner.fields.end(); ++next) fields.add(next->field);
        document.editable().set(message, std::move(fields).finish(), 0);
    }
    return made;
}

EncodedField copy_field(const Document& document, const wire::FieldRow& row,
                        const wire::Field& field, const Document& from) {
    if (stays_in_source(row, field)) {
        return held_field(document, row, from.source_of(field.bytes), field.bytes);
    }
    Copy copy(document, from);
    copy.add_field(field);
    return {document.editable().keep(copy.content), &row};
}

std::shared_ptr<const onnx::Pieces> fields_of(const onnx::Message& message) {
    if (message.edited()) return message.pieces();
    onnx::Pieces::Builder fields(message.table(), message.pieces());
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        fields.add(ByteView(field.begin, field.end), row);
    });
    return std::move(fields).finish();
}

EncodedField held_field(const Document& document, const wire::FieldRow& row,
                        std::shared_ptr<const source::Source> source, ByteView bytes) {
    std::string head;
    wire::write_head(head, row.number, bytes.size());
    const ByteView kept = document.editable().keep(head);
    if (bytes.empty()) return {kept, &row};
    return {kept, &row, document.editable().hold(std::move(source), bytes)};
}

}  // namespace onnxmap::model
