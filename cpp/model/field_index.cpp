#include "model/field_index.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::model {

FieldIndex::FieldIndex(onnx::Message message, const std::uint8_t* origin)
    : message_(std::move(message)), origin_(origin), occurrences_(message_.table()) {
    const std::uint8_t* piece_end = nullptr;
    message_.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        const auto offset = static_cast<std::uint64_t>(field.begin - origin_);
        if (field.begin != piece_end) occurrences_.begin_part(offset);
        piece_end = field.end;
        if (row == nullptr) return;
        occurrences_.note(message_.table().position[row->number], offset);
    });
}

wire::Reader FieldIndex::reader_at(std::uint64_t offset) const {
    const std::uint8_t* p = origin_ + offset;
    // Pieces are in file order: the one that holds p is the last that begins at or before it.
    std::size_t low = 0;
    for (std::size_t high = message_.piece_count(); high - low > 1;) {
        const std::size_t middle = low + (high - low) / 2;
        (message_.piece(middle).data() <= p ? low : high) = middle;
    }
    const ByteView piece = message_.piece(low);
    return {p, piece.data() + piece.size()};
}

wire::Field FieldIndex::at(const wire::FieldRow& row, std::uint64_t i) const {
    const auto& checkpoints = entry(row).checkpoints;
    auto checkpoint =
        std::upper_bound(checkpoints.begin(), checkpoints.end(), i,
                         [](std::uint64_t ordinal, const auto& c) { return ordinal < c.ordinal; });
    --checkpoint;
    std::uint64_t skip = i - checkpoint->ordinal;
    wire::Reader reader = reader_at(checkpoint->offset);
    wire::Field field;
    while (reader.next(field)) {
        if (message_.known_row(field) == &row && skip-- == 0) return field;
    }
    fail_changed();
}

std::optional<wire::Field> FieldIndex::last(const wire::FieldRow& row) const {
    const auto& found = entry(row);
    if (found.count == 0) return std::nullopt;
    wire::Reader reader = reader_at(found.last);
    wire::Field field;
    if (!reader.next(field) || message_.known_row(field) != &row) fail_changed();
    return field;
}

bool FieldIndex::Cursor::next(wire::Field& field) {
    if (left_ == 0) return false;
    --left_;
    while (true) {
        while (reader_.next(field)) {
            if (index_->message_.known_row(field) == row_) return true;
        }
        if (next_piece_ == index_->message_.piece_count()) fail_changed();
        reader_ = wire::Reader(index_->message_.piece(next_piece_++));
    }
}

}  // namespace onnxmap::model
