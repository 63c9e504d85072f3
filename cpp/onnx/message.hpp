// A message of the schema as a view of its bytes. Fields are decoded on each access and not cached:
// reading a field walks over the bytes (tens of nanoseconds for a node). The pieces of a singular
// message that occurs more than once are read one after the other, which merges them. A Message is
// therefore a list of pieces, nearly always one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "onnx/schema.hpp"
#include "wire/message_table.hpp"
#include "wire/reader.hpp"

namespace onnxmap::onnx {

class Message {
  public:
    Message() = default;
    Message(const wire::MessageTable& table, ByteView bytes) : table_(&table), bytes_(bytes) {}
    Message(const wire::MessageTable& table, std::vector<ByteView> pieces);

    [[nodiscard]] const wire::MessageTable& table() const noexcept { return *table_; }

    [[nodiscard]] std::size_t piece_count() const noexcept {
        return pieces_ ? pieces_->views.size() : 1;
    }
    [[nodiscard]] ByteView piece(std::size_t i) const noexcept {
        return pieces_ ? pieces_->views[i] : bytes_;
    }
    /// The index of the piece that holds `p`. Pieces are in file order: it is the last piece that
    /// begins at or before `p`, or 0 if there is none.
    [[nodiscard]] std::size_t piece_at(const std::uint8_t* p) const noexcept;

    [[nodiscard]] std::uint64_t nbytes() const noexcept {
        return pieces_ ? pieces_->nbytes : bytes_.size();
    }

    /// Calls visit(field, row) for each field in file order. `row` is null for an unknown field:
    /// the schema lacks its number, or it has another wire type, or its enum value is not listed.
    template <class Visit>
    void for_each_field(Visit&& visit) const {
        read_fields([&](const wire::Field& field) { visit(field, known_row(field)); });
    }

    /// Calls visit(value) for each value of a repeated field, packed or not.
    template <class Visit>
    void for_each_value(const wire::FieldRow& row, Visit&& visit) const {
        for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
            if (known == &row) unpack(row, field, visit);
        });
    }

    /// The value of a singular field: its last occurrence, unless another member of its oneof came
    /// later. An absent field differs from an explicit default.
    [[nodiscard]] std::optional<wire::Field> find(const wire::FieldRow& row) const;

    /// A singular message field, merged from all its occurrences.
    [[nodiscard]] std::optional<Message> child(const wire::FieldRow& row) const;

    [[nodiscard]] bool has(const wire::FieldRow& row) const { return find(row).has_value(); }
    [[nodiscard]] std::string_view text(const wire::FieldRow& row) const {
        const auto field = find(row);
        return field ? field->text() : std::string_view{};
    }
    [[nodiscard]] std::int64_t int64(const wire::FieldRow& row) const {
        const auto field = find(row);
        return field ? field->int64() : 0;
    }

    /// The member of the oneof that is set, or null.
    [[nodiscard]] const wire::FieldRow* which(std::string_view oneof) const;

    /// The row of the schema that a field belongs to, or null; see for_each_field.
    [[nodiscard]] const wire::FieldRow* known_row(const wire::Field& field) const noexcept {
        const wire::FieldRow* row = table_->find(field.number);
        if (row == nullptr || !row->accepts(field.type)) return nullptr;
        if (row->type == wire::Type::enumeration &&
            kSchema.enum_of(*row).find(field.int32()) == nullptr) {
            return nullptr;
        }
        return row;
    }

    /// Calls visit(value) for each value that one occurrence of a repeated field holds.
    template <class Visit>
    static void unpack(const wire::FieldRow& row, const wire::Field& field, Visit&& visit) {
        if (field.type == row.wire_type()) {
            visit(field);
            return;
        }
        wire::Field value = field;
        value.type = row.wire_type();
        if (value.type == wire::WireType::varint) {
            wire::PackedVarints run(field.bytes);
            while (run.next(value.value)) visit(value);
        } else {
            const bool wide = value.type == wire::WireType::fixed64;
            const std::size_t width = wide ? 8 : 4;
            for (std::size_t i = 0; i + width <= field.bytes.size(); i += width) {
                const std::uint8_t* p = field.bytes.data() + i;
                value.value = wide ? wire::load64(p) : wire::load32(p);
                visit(value);
            }
        }
    }

    /// Iterates over the fields of all pieces. The message must outlive it.
    class Walk {
      public:
        /// Starts at the first field.
        explicit Walk(const Message& message) noexcept : message_(&message) {}
        /// Starts at the field at `begin`, which lies in the message.
        Walk(const Message& message, const std::uint8_t* begin)
            : message_(&message), next_piece_(message.piece_at(begin)) {
            const ByteView piece = message.piece(next_piece_++);
            reader_ = wire::Reader(begin, piece.data() + piece.size());
        }

        /// Returns false after the last field.
        bool next(wire::Field& field) {
            while (!reader_.next(field)) {
                if (next_piece_ == message_->piece_count()) return false;
                reader_ = wire::Reader(message_->piece(next_piece_++));
            }
            return true;
        }

      private:
        const Message* message_;
        std::size_t next_piece_ = 0;
        wire::Reader reader_{ByteView{}};
    };

  private:
    struct Pieces {
        std::vector<ByteView> views;
        std::uint64_t nbytes;  // of all pieces
    };

    template <class Visit>
    void read_fields(Visit&& visit) const {
        wire::Field field;
        for (std::size_t i = 0; i < piece_count(); ++i) {
            wire::Reader reader(piece(i));
            while (reader.next(field)) visit(field);
        }
    }

    const wire::MessageTable* table_ = nullptr;
    ByteView bytes_;
    std::shared_ptr<const Pieces> pieces_;  // null if there is only one
};

/// The message that an occurrence of a message field holds.
[[nodiscard]] inline Message message_in(const wire::FieldRow& row, const wire::Field& field) {
    return {kSchema.message_of(row), field.bytes};
}

}  // namespace onnxmap::onnx
