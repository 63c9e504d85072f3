// Random access to the fields of a large message (a graph, a function, a model) through its
// occurrence index: the i-th node is reached by walking at most 1 KiB. The fields of an edited
// message have an index of their own.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "onnx/message.hpp"
#include "wire/occurrences.hpp"

namespace onnxmap::model {

class FieldIndex {
  public:
    /// Indexes a message that is in memory by walking over it once.
    FieldIndex(onnx::Message message, const std::uint8_t* origin);

    /// Takes the index that the load pass made; its offsets count from `origin`.
    FieldIndex(onnx::Message message, const std::uint8_t* origin, wire::Occurrences occurrences)
        : message_(std::move(message)), origin_(origin), occurrences_(std::move(occurrences)) {}

    [[nodiscard]] const onnx::Message& message() const noexcept { return message_; }

    /// How often the field occurs.
    [[nodiscard]] std::uint64_t count(const wire::FieldRow& row) const noexcept {
        return message_.edited() ? message_.pieces()->count(row) : entry(row).count;
    }

    /// How many names to make room for if each occurrence has one. It is not count(): a file of
    /// empty elements must not ask for many times its size.
    [[nodiscard]] std::uint64_t likely_names(const wire::FieldRow& row) const noexcept {
        return std::min(count(row), message_.nbytes() / 16);
    }

    /// The i-th occurrence, i < count(row). Throws Error if the bytes changed after loading, and
    /// Error `edit.concurrent` if there are fewer.
    [[nodiscard]] wire::Field at(const wire::FieldRow& row, std::uint64_t i) const;

    /// How many occurrences stand before the one whose content begins at `key`; nothing if none
    /// does.
    [[nodiscard]] std::optional<std::uint64_t> ordinal(const wire::FieldRow& row,
                                                       const std::uint8_t* key) const;

    /// ordinal() of each key. Throws Error `edit.concurrent` if one is missing.
    [[nodiscard]] std::vector<std::uint64_t> ordinals(
        const wire::FieldRow& row, std::span<const std::uint8_t* const> keys) const;

    /// The last occurrence: the value of a singular field that is in no oneof.
    [[nodiscard]] std::optional<wire::Field> last(const wire::FieldRow& row) const;

    /// Iterates over the occurrences of one field in order, without look-ups. The index must
    /// outlive it.
    class Cursor {
      public:
        Cursor(const FieldIndex& index, const wire::FieldRow& row)
            : index_(&index), row_(&row), count_(index.count(row)), walk_(index.message_) {}

        /// Returns false after the last occurrence.
        bool next(wire::Field& field);

        /// How many occurrences lie behind: the index of the one that next() returns.
        [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

        /// Moves on to the i-th occurrence, position() <= i < count: next() then returns it. What
        /// lies before the checkpoint of a later occurrence, or of the first, is not walked over.
        void skip_to(std::uint64_t i);

      private:
        const FieldIndex* index_;
        const wire::FieldRow* row_;
        std::uint64_t count_;
        std::uint64_t position_ = 0;
        onnx::Message::Walk walk_;
        onnx::Pieces::Place place_;  // of the next one or before it, if the message was edited
    };

    /// Calls visit(field) for each occurrence, in order. Touches nothing that lies far before the
    /// first one or behind the last one.
    template <class Visit>
    void for_each(const wire::FieldRow& row, Visit&& visit) const {
        std::uint64_t left = count(row);
        if (left == 0) return;
        wire::Field field;
        if (message_.pieces()) {
            Cursor cursor(*this, row);
            cursor.skip_to(0);
            while (cursor.next(field)) visit(field);
            return;
        }
        // The message is one range, as nearly all are.
        const ByteView bytes = message_.loaded();
        wire::Reader reader(origin_ + entry(row).before(0).offset, bytes.data() + bytes.size());
        while (reader.next(field)) {
            if (!onnx::Message::belongs(field, row)) continue;
            visit(field);
            if (--left == 0) return;
        }
        fail_changed();
    }

    /// Calls visit(message) for each message of a repeated field.
    template <class Visit>
    void for_each_child(const wire::FieldRow& row, Visit&& visit) const {
        assert(row.is_message());
        for_each(row, [&](const wire::Field& field) { visit(message_.inner(row, field)); });
    }

  private:
    [[nodiscard]] const wire::FieldOccurrences& entry(const wire::FieldRow& row) const noexcept {
        return occurrences_.at(message_.table().position_of(row));
    }
    /// The next field that belongs to `row`. Throws Error if the bytes changed after loading.
    static wire::Field next_of(const wire::FieldRow& row, onnx::Message::Walk& walk);

    onnx::Message message_;
    const std::uint8_t* origin_;
    wire::Occurrences occurrences_;
};

}  // namespace onnxmap::model
