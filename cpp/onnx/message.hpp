// A message of the schema as a view of its bytes. Fields are decoded on each access and not cached:
// reading a field walks over the bytes (tens of nanoseconds for a node). The pieces of a singular
// message that occurs more than once are read one after the other, which merges them. A Message is
// therefore a list of pieces, nearly always one.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/seeded_hash.hpp"
#include "onnx/pieces.hpp"
#include "onnx/schema.hpp"
#include "wire/message_table.hpp"
#include "wire/reader.hpp"

namespace onnxmap::onnx {

/// The edited messages of a document. A message is found by its key(). Each message that is made
/// from the bytes of a document asks here. If it was not edited, that is one comparison, and rarely
/// a look-up.
class Changes {
  public:
    /// Whether any message was edited.
    [[nodiscard]] bool any() const noexcept { return marks_.load(std::memory_order_acquire) != 0; }
    /// Whether find() may find fields: always if the message was edited, rarely if it was not.
    [[nodiscard]] bool may_have(const std::uint8_t* key) const noexcept {
        return (marks_.load(std::memory_order_acquire) & mark(key)) != 0;
    }
    /// The fields of an edited message; null if it was not edited.
    [[nodiscard]] virtual std::shared_ptr<const Pieces> find(const std::uint8_t* key) const = 0;
    /// Whether the message was not in the document when it was loaded.
    [[nodiscard]] virtual bool is_added(const std::uint8_t* key) const = 0;

  protected:
    Changes() = default;
    ~Changes() = default;

    /// Notes that a message was edited.
    void note(const std::uint8_t* key) noexcept {
        marks_.fetch_or(mark(key), std::memory_order_release);
    }
    /// Notes that no message is edited.
    void forget_all() noexcept { marks_.store(0, std::memory_order_release); }

  private:
    // One of 64 bits. Keys are close together, and the product spreads them.
    static std::uint64_t mark(const std::uint8_t* key) noexcept {
        return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(key) * kScatter >> 58);
    }

    std::atomic<std::uint64_t> marks_ = 0;  // of all edited messages
};

class Message {
  public:
    Message() = default;
    /// `changes`: of the document, or null.
    Message(const wire::MessageTable& table, ByteView bytes, const Changes* changes = nullptr)
        : table_(&table), bytes_(bytes), changes_(changes) {
        find_changes();
    }
    /// The occurrences of a message, which merge, in file order.
    Message(const wire::MessageTable& table, std::vector<ByteView> occurrences,
            const Changes* changes = nullptr);

    [[nodiscard]] const wire::MessageTable& table() const noexcept { return *table_; }

    /// The address that identifies the message in its document, whatever becomes of its fields:
    /// where the content of its first occurrence begins that is not empty.
    [[nodiscard]] const std::uint8_t* key() const noexcept { return bytes_.data(); }
    /// The bytes of the message before it was edited; of its first occurrence if there are more.
    [[nodiscard]] ByteView loaded() const noexcept { return bytes_; }
    [[nodiscard]] const Changes* changes() const noexcept { return changes_; }
    /// The message as it is now. A Message stays what it was when it was made.
    [[nodiscard]] Message current() const {
        Message now = *this;
        now.find_changes();
        return now;
    }
    /// The same message with the edits of `changes`.
    [[nodiscard]] Message with(const Changes& changes) const {
        Message other = *this;
        other.changes_ = &changes;
        other.find_changes();
        return other;
    }

    /// The pieces of an edited message or of one that occurs several times; null for one range.
    [[nodiscard]] const std::shared_ptr<const Pieces>& pieces() const noexcept { return pieces_; }
    [[nodiscard]] bool edited() const noexcept { return pieces_ && pieces_->edited(); }

    /// Calls visit(bytes) for each occurrence of the message before it was edited.
    template <class Visit>
    void for_each_loaded(Visit&& visit) const {
        const Pieces* const occurrences = edited() ? pieces_->merged().get() : pieces_.get();
        if (occurrences != nullptr) {
            for (const ByteView bytes : occurrences->occurrences()) visit(bytes);
        } else {
            visit(bytes_);
        }
    }

    /// Calls visit(bytes) for each range of bytes that the message consists of; the content that a
    /// field of an edited message holds elsewhere is a range of its own.
    template <class Visit>
    void for_each_range(Visit&& visit) const {
        if (pieces_) {
            pieces_->for_each_range(visit);
        } else {
            visit(bytes_);
        }
    }

    [[nodiscard]] std::uint64_t nbytes() const noexcept {
        return pieces_ ? pieces_->nbytes() : bytes_.size();
    }

    /// Whether both are views of the same message in the same state.
    [[nodiscard]] bool is(const Message& other) const noexcept {
        return table_ == other.table_ && bytes_.data() == other.bytes_.data() &&
               bytes_.size() == other.bytes_.size() && changes_ == other.changes_;
    }

    /// The message that an occurrence of a message field of this message holds.
    [[nodiscard]] Message inner(const wire::FieldRow& row, const wire::Field& field) const {
        return {kSchema.message_of(row), field.bytes, changes_};
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
        read_fields([&](const wire::Field& field) {
            if (belongs(field, row)) unpack(row, field, visit);
        });
    }

    /// Calls visit(message) for each message of a repeated field.
    template <class Visit>
    void for_each_child(const wire::FieldRow& row, Visit&& visit) const {
        assert(row.is_message());
        read_fields([&](const wire::Field& field) {
            if (belongs(field, row)) visit(inner(row, field));
        });
    }

    /// How many values a repeated field has, packed or not.
    [[nodiscard]] std::uint64_t count(const wire::FieldRow& row) const {
        std::uint64_t count = 0;
        for_each_value(row, [&](const wire::Field&) { ++count; });
        return count;
    }

    /// The value of a singular field: its last occurrence, unless another member of its oneof came
    /// later. An absent field differs from an explicit default.
    [[nodiscard]] std::optional<wire::Field> find(const wire::FieldRow& row) const;

    /// A singular message field, merged from all its occurrences.
    [[nodiscard]] std::optional<Message> child(const wire::FieldRow& row) const;

    [[nodiscard]] bool has(const wire::FieldRow& row) const { return find(row).has_value(); }
    // For loops over nodes: in a large batch of files, gcc would not put it inline.
    [[nodiscard, gnu::always_inline]] std::string_view text(const wire::FieldRow& row) const {
        if (!pieces_ && is_plain(row)) {
            wire::Field field;
            const bool found = wire::Reader(bytes_).last(row.number, row.wire_type(), field);
            return found ? field.text() : std::string_view{};
        }
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
        return row != nullptr && is_value(field, *row) ? row : nullptr;
    }
    /// Whether known_row(field) is this row of the message's table.
    [[nodiscard, gnu::always_inline]] static bool belongs(const wire::Field& field,
                                                          const wire::FieldRow& row) noexcept {
        return field.number == row.number && is_value(field, row);
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
        explicit Walk(const Message& message) noexcept {
            if (message.pieces_) {
                pieces_.emplace(*message.pieces_);
            } else {
                reader_ = wire::Reader(message.bytes_);
            }
        }
        /// Starts at the field at `begin`, which lies in the message. Not for an edited message.
        Walk(const Message& message, const std::uint8_t* begin) noexcept {
            if (message.pieces_) {
                pieces_.emplace(*message.pieces_, begin);
            } else {
                const ByteView bytes = message.bytes_;
                reader_ = wire::Reader(begin, bytes.data() + bytes.size());
            }
        }

        /// Returns false after the last field.
        [[gnu::always_inline]] bool next(wire::Field& field) {
            return pieces_ ? pieces_->next(field) : reader_.next(field);
        }

      private:
        std::optional<Pieces::Walk> pieces_;
        wire::Reader reader_{ByteView{}};
    };

  private:
    // Whether a field of the row's number is a value of it.
    [[nodiscard, gnu::always_inline]] static bool is_value(const wire::Field& field,
                                                           const wire::FieldRow& row) noexcept {
        return row.accepts(field.type) && (row.type != wire::Type::enumeration ||
                                           kSchema.enum_of(row).find(field.int32()) != nullptr);
    }
    // Whether the last field with the number and wire type of the row is its value, whatever other
    // fields there are.
    [[nodiscard]] static bool is_plain(const wire::FieldRow& row) noexcept {
        return row.oneof.empty() && row.type != wire::Type::enumeration && !row.repeated();
    }

    void find_changes() {
        if (changes_ != nullptr && (changes_->may_have(key()) || edited())) look_up();
    }
    void look_up();

    template <class Visit>
    void read_fields(Visit&& visit) const {
        wire::Field field;
        if (pieces_) {
            Pieces::Walk walk(*pieces_);
            while (walk.next(field)) visit(field);
        } else {
            wire::Reader reader(bytes_);
            while (reader.next(field)) visit(field);
        }
    }

    const wire::MessageTable* table_ = nullptr;
    ByteView bytes_;                        // of the first occurrence that is not empty
    std::shared_ptr<const Pieces> pieces_;  // null if the message is one range
    const Changes* changes_ = nullptr;
};

/// Throws Error `limit.depth` if the messages around `message` were edited; otherwise
/// `file.changed`: they are nested deeper than the load pass allowed.
[[noreturn]] void fail_too_deep(const Message& message);

}  // namespace onnxmap::onnx
