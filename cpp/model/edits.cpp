#include "model/edits.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "onnx/schema.hpp"

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kFirstEditBlock = 4 << 10;
constexpr std::uint64_t kLargestEditBlock = 1 << 20;

// Whether a field begins in a range. What is allocated next may begin at the end of the range.
bool begins_in(ByteView bytes, const wire::Field& field) noexcept {
    return bytes.data() <= field.begin && field.begin < bytes.data() + bytes.size();
}

}  // namespace

Edits::Fields Edits::find(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    const auto found = fields_of_.find(key);
    return found == fields_of_.end() ? nullptr : *found->second;
}

std::shared_ptr<source::OwnedBytes> Edits::block_of(const std::uint8_t* p) const {
    const auto next = block_at_.upper_bound(p);
    if (next == block_at_.begin()) return nullptr;
    const auto& block = blocks_[std::prev(next)->second];
    // The last byte of a block is never used, so the end of its bytes lies within the block.
    return p < block->data() + block->size() ? block : nullptr;
}

bool Edits::is_added(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    return block_of(key) != nullptr;
}

std::span<std::uint8_t> Edits::allocate(std::uint64_t nbytes) {
    const std::lock_guard lock(mutex_);
    // Neither the first nor the last byte of a block is used. Another source may begin where a
    // block ends or end where it begins, and an empty message there is known by its address.
    if (blocks_.empty() || blocks_.back()->size() - used_ <= nbytes) {
        const std::uint64_t next = blocks_.empty()
                                       ? kFirstEditBlock
                                       : std::min(2 * blocks_.back()->size(), kLargestEditBlock);
        auto block = std::make_shared<source::OwnedBytes>(std::max(next, nbytes + 2));
        block_at_.emplace(block->data(), blocks_.size());
        blocks_.push_back(std::move(block));
        used_ = 1;
    }
    const auto bytes = blocks_.back()->writable().subspan(used_, nbytes);
    used_ += nbytes;
    return bytes;
}

ByteView Edits::keep(std::string_view bytes) {
    const auto place = allocate(bytes.size());
    std::ranges::copy(as_bytes(bytes), place.begin());
    return place;
}

onnx::HeldContent Edits::hold(std::shared_ptr<const source::Source> source, ByteView bytes) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = held_.equal_range(source->data());
    const bool known = std::any_of(first, last, [&](const auto& entry) {
        const auto& other = entry.second.source;
        return !other.owner_before(source) && !source.owner_before(other);
    });
    if (!known) {
        if (held_.size() >= most_held_) {
            std::erase_if(held_, [](const auto& entry) { return entry.second.source.expired(); });
            most_held_ = 2 * held_.size() + 16;
        }
        held_.emplace(source->data(), Kept{source->bytes(), source});
    }
    return {bytes, std::move(source)};
}

std::shared_ptr<const source::Source> Edits::source_of(ByteView bytes) const {
    const std::lock_guard lock(mutex_);
    if (auto block = block_of(bytes.data())) return block;
    for (auto each = held_.upper_bound(bytes.data()); each != held_.begin();) {
        const Kept& kept = (--each)->second;
        const auto before = static_cast<std::uint64_t>(bytes.data() - kept.bytes.data());
        if (before > kept.bytes.size() || bytes.size() > kept.bytes.size() - before) continue;
        if (auto source = kept.source.lock()) return source;
    }
    return nullptr;
}

void Edits::note_edit(bool renames) noexcept {
    if (renames) renamings_.fetch_add(1, std::memory_order_acq_rel);
    count_.fetch_add(1, std::memory_order_acq_rel);
}

void Edits::set(const onnx::Message& message, Fields fields, bool renames) {
    // The fields that were replaced are released without the lock: they may hold Python objects.
    {
        const std::lock_guard lock(mutex_);
        const auto place = messages_.try_emplace(message.key()).first;
        fields_of_.try_emplace(message.key(), &place->second);
        std::swap(place->second, fields);
        note(message.key());
    }
    note_edit(renames);
}

Edits::Inside Edits::inside(const onnx::Message& message) const {
    Inside found;
    std::vector<ByteView> ranges;
    message.for_each_loaded([&](ByteView bytes) { ranges.push_back(bytes); });
    while (!ranges.empty()) {
        const ByteView bytes = ranges.back();
        ranges.pop_back();
        found.ranges.push_back(bytes);
        const std::uint8_t* const end = bytes.data() + bytes.size();
        for (auto each = messages_.lower_bound(bytes.data());
             each != messages_.end() && each->first <= end; ++each) {
            if (!found.edited.insert(*each).second) continue;
            // The fields outside were added. They need not be messages: what is noted about the
            // bytes of other fields is never looked up. Content that is elsewhere is no message.
            onnx::Pieces::Walk walk(*each->second);
            wire::Field field;
            while (walk.next(field)) {
                const bool is_held = field.begin == field.end;
                if (field.type == wire::WireType::length_delimited && !is_held &&
                    !begins_in(bytes, field)) {
                    ranges.push_back(field.bytes);
                }
            }
        }
    }
    return found;
}

void Edits::remove(const onnx::Message& message) {
    {
        const std::lock_guard lock(mutex_);
        const Inside found = inside(message);
        for (const ByteView bytes : found.ranges) remove_range(bytes);
    }
    note_edit(false);
}

void Edits::remove_range(ByteView bytes) {
    const std::uint8_t* const begin = bytes.data();
    const std::uint8_t* const end = begin + bytes.size();
    if (is_removed_at(begin)) return;  // with a message around it
    removed_.erase(removed_.lower_bound(begin), removed_.upper_bound(end));
    removed_[begin] = end;
}

bool Edits::is_removed_at(const std::uint8_t* key) const {
    const auto next = removed_.upper_bound(key);
    return next != removed_.begin() && std::prev(next)->second >= key;
}

bool Edits::is_removed(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    return is_removed_at(message.key());
}

void Edits::note_replaced(const onnx::Message& message) {
    note_edit(false);
    const std::lock_guard lock(mutex_);
    replaced_[message.key()] = count();
    any_replaced_.store(true, std::memory_order_release);
}

bool Edits::is_replaced(const onnx::Message& message, std::uint64_t since) const {
    if (!any_replaced_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    const auto found = replaced_.find(message.key());
    return found != replaced_.end() && found->second > since;
}

void Edits::note_vacated(const onnx::Message& parent, const wire::FieldRow& row,
                         onnx::Message left) {
    const std::lock_guard lock(mutex_);
    vacated_[{parent.key(), &row}].push_back(std::move(left));
}

std::uint64_t Edits::vacated(const onnx::Message& parent, const wire::FieldRow& row) const {
    const std::lock_guard lock(mutex_);
    const auto found = vacated_.find({parent.key(), &row});
    return found == vacated_.end() ? 0 : found->second.size();
}

onnx::Message Edits::left(const onnx::Message& parent, const wire::FieldRow& row,
                          std::uint64_t i) const {
    const std::lock_guard lock(mutex_);
    return vacated_.at({parent.key(), &row}).at(i);
}

void Edits::revert() {
    ByKey messages;
    {
        const std::lock_guard lock(mutex_);
        messages.swap(messages_);
        fields_of_.clear();
        removed_.clear();
        replaced_.clear();
        for (const auto& block : blocks_) remove_range(block->bytes());
        if (!blocks_.empty()) used_ = blocks_.back()->size();
        forget_all();
    }
    note_edit(true);
}

Edits::ByKey Edits::messages_in(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    return inside(message).edited;
}

}  // namespace onnxmap::model
