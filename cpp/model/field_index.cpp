#include "model/field_index.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::model {

namespace {

// One ordinal is found by a walk over the chunks of an edited message; so many by a walk over all.
constexpr std::size_t kFewKeys = 64;

}  // namespace

FieldIndex::FieldIndex(onnx::Message message, const std::uint8_t* origin)
    : message_(std::move(message)), origin_(origin), occurrences_(message_.table().fields.size()) {
    if (message_.edited()) return;
    message_.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row == nullptr) return;
        const auto offset = static_cast<std::uint64_t>(field.begin - origin_);
        occurrences_[message_.table().position_of(*row)].note(offset);
    });
}

wire::Field FieldIndex::next_of(const wire::FieldRow& row, onnx::Message::Walk& walk) {
    wire::Field field;
    while (walk.next(field)) {
        if (onnx::Message::belongs(field, row)) return field;
    }
    fail_changed();
}

wire::Field FieldIndex::at(const wire::FieldRow& row, std::uint64_t i) const {
    if (message_.edited()) {
        const onnx::Pieces& fields = *message_.pieces();
        return fields.field_at(fields.find(row, i));
    }
    if (i >= entry(row).count) onnx::fail_edited_meanwhile();
    const auto& checkpoint = entry(row).before(i);
    onnx::Message::Walk walk(message_, origin_ + checkpoint.offset);
    for (std::uint64_t skip = i - checkpoint.ordinal; skip > 0; --skip) next_of(row, walk);
    return next_of(row, walk);
}

std::optional<std::uint64_t> FieldIndex::ordinal(const wire::FieldRow& row,
                                                 const std::uint8_t* key) const {
    if (message_.edited()) return message_.pieces()->ordinal(row, key);
    // Occurrences are in file order. The content begins behind the tag.
    const auto& [count, checkpoints] = entry(row);
    const auto is_before = [&](const auto& each) { return origin_ + each.offset < key; };
    const auto behind = std::ranges::partition_point(checkpoints, is_before);
    if (behind == checkpoints.begin()) return std::nullopt;
    const auto& checkpoint = *std::prev(behind);
    onnx::Message::Walk walk(message_, origin_ + checkpoint.offset);
    for (std::uint64_t i = checkpoint.ordinal; i < count; ++i) {
        const wire::Field field = next_of(row, walk);
        if (field.bytes.data() == key) return i;
        if (field.bytes.data() > key) break;
    }
    return std::nullopt;
}

std::vector<std::uint64_t> FieldIndex::ordinals(const wire::FieldRow& row,
                                                std::span<const std::uint8_t* const> keys) const {
    std::vector<std::uint64_t> found;
    found.reserve(keys.size());
    if (keys.size() <= kFewKeys) {
        for (const std::uint8_t* const key : keys) {
            const auto here = ordinal(row, key);
            if (!here) onnx::fail_edited_meanwhile();
            found.push_back(*here);
        }
        return found;
    }
    std::unordered_map<const std::uint8_t*, std::uint64_t> known;
    known.reserve(count(row));
    for_each(row, [&](const wire::Field& each) { known.emplace(each.bytes.data(), known.size()); });
    for (const std::uint8_t* const key : keys) {
        const auto here = known.find(key);
        if (here == known.end()) onnx::fail_edited_meanwhile();
        found.push_back(here->second);
    }
    return found;
}

std::optional<wire::Field> FieldIndex::last(const wire::FieldRow& row) const {
    const std::uint64_t found = count(row);
    return found == 0 ? std::nullopt : std::optional(at(row, found - 1));
}

bool FieldIndex::Cursor::next(wire::Field& field) {
    if (position_ == count_) return false;
    ++position_;
    if (index_->message_.edited()) {
        const onnx::Pieces& fields = *index_->message_.pieces();
        place_ = *fields.find_from(*row_, place_);
        field = fields.field_at(place_);
        ++place_.index;
        return true;
    }
    field = next_of(*row_, walk_);
    return true;
}

void FieldIndex::Cursor::skip_to(std::uint64_t i) {
    if (i == position_ && i != 0) return;  // the next one; the first may be far from the beginning
    if (index_->message_.edited()) {
        place_ = index_->message_.pieces()->find(*row_, i);
        position_ = i;
        return;
    }
    const auto& checkpoint = index_->entry(*row_).before(i);
    if (checkpoint.ordinal >= position_) {
        walk_ = onnx::Message::Walk(index_->message_, index_->origin_ + checkpoint.offset);
        position_ = checkpoint.ordinal;
    }
    for (; position_ < i; ++position_) next_of(*row_, walk_);
}

}  // namespace onnxmap::model
