// The pieces of a message whose bytes are not one range: its occurrences if it occurs more than
// once, or its fields if it was edited. Immutable: an edit makes another list, which shares all
// chunks but those that it changes. Inserting one of 200 000 nodes therefore copies a few hundred
// entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/made_once.hpp"
#include "wire/message_table.hpp"
#include "wire/reader.hpp"

namespace onnxmap::onnx {

/// Bytes that a field holds and that do not follow its length: an assigned array, a range of
/// another file.
struct HeldContent {
    ByteView bytes;
    std::shared_ptr<const void> owner;
};

/// One field in its encoded form.
struct EncodedField {
    ByteView bytes;                       // complete, or the tag and length before `content`
    const wire::FieldRow* row = nullptr;  // null: unknown
    std::optional<HeldContent> content = {};
};

/// Throws Error `edit.concurrent`: a field that was found is no longer there.
[[noreturn]] void fail_edited_meanwhile();

class Pieces {
    struct Chunk;

  public:
    class Builder;

    /// The place of a piece, or behind the last piece of a chunk.
    struct Place {
        std::size_t chunk = 0;
        std::size_t index = 0;
        bool operator==(const Place&) const = default;
    };

    /// A set of fields: a bit for each position in the message's table.
    using Rows = std::uint32_t;
    [[nodiscard]] static Rows rows(const wire::MessageTable& table,
                                   const wire::FieldRow& row) noexcept {
        return Rows{1} << table.position_of(row);
    }

    /// The occurrences of a message, which merge, in file order.
    explicit Pieces(std::vector<ByteView> occurrences);

    /// Whether these are the fields of an edited message, one piece for each.
    [[nodiscard]] bool edited() const noexcept { return table_ != nullptr; }
    [[nodiscard]] const std::shared_ptr<const Pieces>& merged() const noexcept { return merged_; }

    /// Bytes of all pieces. The content that a field holds elsewhere counts.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// The bytes of each occurrence. Not for an edited message.
    [[nodiscard]] std::span<const ByteView> occurrences() const noexcept {
        return chunks_.front()->pieces;
    }

    /// Calls visit(bytes) for each piece, and for content that a field holds elsewhere.
    template <class Visit>
    void for_each_range(Visit&& visit) const {
        for (const auto& chunk : chunks_) {
            for (const ByteView piece : chunk->pieces) visit(piece);
            for (const Held& each : chunk->held) visit(each.content.bytes);
        }
    }

    /// Goes through the fields.
    class Walk {
      public:
        explicit Walk(const Pieces& pieces) noexcept : pieces_(&pieces) {}
        Walk(const Pieces& pieces, Place begin) noexcept : pieces_(&pieces), place_(begin) {}
        /// Starts at the field at `begin`, which lies in an occurrence of a message that is not
        /// edited.
        Walk(const Pieces& pieces, const std::uint8_t* begin) noexcept;

        /// Returns false after the last field.
        bool next(wire::Field& field) {
            while (!reader_.next(field)) {
                switch (next_piece(field)) {
                    case Next::none: return false;
                    case Next::field: return true;
                    case Next::bytes: break;
                }
            }
            return true;
        }

      private:
        enum class Next : std::uint8_t { none, field, bytes };
        Next next_piece(wire::Field& field) noexcept;

        const Pieces* pieces_;
        Place place_;
        wire::Reader reader_{ByteView{}};
    };

    // The rest is for the pieces of edited messages.

    [[nodiscard]] std::uint64_t count(const wire::FieldRow& row) const noexcept;
    /// The place of the i-th occurrence of a field, i < count(row). Throws Error `edit.concurrent`.
    [[nodiscard]] Place find(const wire::FieldRow& row, std::uint64_t i) const;
    /// The next occurrence of a field from `place` on; nothing if there is none.
    [[nodiscard]] std::optional<Place> find_from(const wire::FieldRow& row,
                                                 Place place) const noexcept;
    [[nodiscard]] std::optional<Place> find_last(const wire::FieldRow& row) const noexcept;
    /// How many occurrences of a field stand before the one whose content begins at `key`; nothing
    /// if none does. The first look-up in a chunk sorts its addresses.
    [[nodiscard]] std::optional<std::uint64_t> ordinal(const wire::FieldRow& row,
                                                       const std::uint8_t* key) const;
    /// The field at a place. Throws Error `wire.*` if its bytes changed after loading.
    [[nodiscard]] wire::Field field_at(Place place) const;
    /// The same field in its encoded form.
    [[nodiscard]] EncodedField encoded_at(Place place) const;

    /// A list without the fields in `removed`, with `added` before the field at `place`, or at the
    /// end.
    [[nodiscard]] std::shared_ptr<const Pieces> replace(Rows removed, std::optional<Place> place,
                                                        std::span<const EncodedField> added) const;
    /// A list without the unknown fields.
    [[nodiscard]] std::shared_ptr<const Pieces> known() const;
    /// A list without some occurrences of a field; `ordinals` are sorted. Adds the places of these
    /// to `gone`. Throws Error `edit.concurrent` if one is missing.
    [[nodiscard]] std::shared_ptr<const Pieces> erase(const wire::FieldRow& row,
                                                      std::span<const std::uint64_t> ordinals,
                                                      std::vector<Place>* gone = nullptr) const;

  private:
    struct Held {
        std::size_t index;  // of the piece that is its tag and length
        HeldContent content;
    };
    struct Chunk {
        std::vector<ByteView> pieces;
        std::vector<std::uint8_t> rows;     // the position of each piece's field in the table
        std::vector<std::uint32_t> counts;  // of each field, by position
        std::vector<Held> held;             // ascending
        std::uint64_t nbytes = 0;
        mutable MadeOnce<const std::vector<std::uint16_t>> by_address;  // see in_order()

        /// The indices of the pieces, sorted by their addresses.
        [[nodiscard]] const std::vector<std::uint16_t>& in_order() const;
        [[nodiscard]] const HeldContent* content_of(std::size_t index) const noexcept;
        void add(ByteView piece, std::uint8_t row, const HeldContent* content);
        void add_from(const Chunk& other, std::size_t index) {
            add(other.pieces[index], other.rows[index], other.content_of(index));
        }
    };

    Pieces() = default;
    [[nodiscard]] std::uint8_t position(const wire::FieldRow& row) const noexcept {
        return table_->position_of(row);
    }

    const wire::MessageTable* table_ = nullptr;  // null: occurrences of a message
    std::vector<std::shared_ptr<const Chunk>> chunks_;
    std::shared_ptr<const Pieces> merged_;
    std::uint64_t nbytes_ = 0;
};

/// Collects the fields of an edited message, in order.
class Pieces::Builder {
  public:
    /// `merged`: the occurrences of the message before the edit, if they were several.
    Builder(const wire::MessageTable& table, std::shared_ptr<const Pieces> merged);

    /// A field in the bytes of the message. `row` is null if it is unknown.
    void add(ByteView bytes, const wire::FieldRow* row) { add(bytes, position_of(row), nullptr); }
    void add(const EncodedField& field) {
        add(field.bytes, position_of(field.row), field.content ? &*field.content : nullptr);
    }
    void add(std::span<const EncodedField> fields) {
        for (const EncodedField& field : fields) add(field);
    }

    [[nodiscard]] std::shared_ptr<const Pieces> finish() &&;

  private:
    friend class Pieces;

    [[nodiscard]] std::uint8_t position_of(const wire::FieldRow* row) const noexcept {
        return row == nullptr ? wire::MessageTable::kNone : made_.position(*row);
    }
    void add(ByteView piece, std::uint8_t row, const HeldContent* content);
    void add_from(const Chunk& chunk, std::size_t index);
    /// Ends the chunk that add() fills.
    void close();
    /// Adds a chunk of another list.
    void share(const std::shared_ptr<const Chunk>& chunk);
    void push(std::shared_ptr<const Chunk> chunk);

    Pieces made_;
    std::shared_ptr<Chunk> open_;
};

}  // namespace onnxmap::onnx
