#include "model/edits.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "onnx/schema.hpp"

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kLargestEditBlock = 1 << 20;

// Steps that are kept, some 2 MB. What follows the log and has missed more reads all anew.
constexpr std::size_t kMostSteps = 1 << 15;

// Whether a field begins in a range. What is allocated next may begin at the end of the range.
bool begins_in(ByteView bytes, const wire::Field& field) noexcept {
    return bytes.data() <= field.begin && field.begin < bytes.data() + bytes.size();
}

}  // namespace

std::shared_ptr<Edits::Entry> Edits::entry_of(const std::uint8_t* key) const {
    const auto found = messages_.find(key);
    if (found != messages_.end()) return found->second;
    const auto gone = let_go_.find(key);
    if (gone == let_go_.end()) return nullptr;
    if (auto entry = gone->second.lock()) return entry;
    onnx::fail_edited_meanwhile();  // by another thread: no object of the message is left
}

Edits::Fields Edits::find(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second->fields;
    const auto entry = let_go_.empty() ? nullptr : entry_of(key);
    return entry ? entry->fields : nullptr;
}

std::shared_ptr<const void> Edits::fields_kept(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    return entry_of(key);
}

std::optional<std::size_t> Edits::block_of(const std::uint8_t* p) const {
    const auto next = block_at_.upper_bound(p);
    if (next == block_at_.begin()) return std::nullopt;
    const std::size_t i = std::prev(next)->second;
    // The last byte of a block is never used, so the end of its bytes lies within the block.
    return p < blocks_[i]->data() + blocks_[i]->size() ? std::optional(i) : std::nullopt;
}

bool Edits::is_added(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    return block_of(key).has_value();
}

std::span<std::uint8_t> Edits::allocate(std::uint64_t nbytes) {
    const std::lock_guard lock(mutex_);
    // Neither the first nor the last byte of a block is used. Another source may begin where a
    // block ends or end where it begins, and an empty message there is known by its address.
    if (blocks_.empty() || blocks_.back()->size() - used_ <= nbytes) {
        auto block = std::make_shared<source::OwnedBytes>(std::max(next_block_, nbytes + 2));
        next_block_ = std::min(2 * next_block_, kLargestEditBlock);
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
    if (const auto i = block_of(bytes.data())) return blocks_[*i];
    for (auto each = held_.upper_bound(bytes.data()); each != held_.begin();) {
        const Kept& kept = (--each)->second;
        const auto before = static_cast<std::uint64_t>(bytes.data() - kept.bytes.data());
        if (before > kept.bytes.size() || bytes.size() > kept.bytes.size() - before) continue;
        if (auto source = kept.source.lock()) return source;
    }
    return nullptr;
}

std::uint64_t Edits::start_log() {
    const std::lock_guard lock(mutex_);
    is_logged_ = true;
    return log_begin_ + log_.size();
}

bool Edits::steps_since(std::uint64_t& place, std::vector<EditStep>& steps) const {
    const std::lock_guard lock(mutex_);
    if (place < log_begin_) return false;
    steps.insert(steps.end(), log_.begin() + static_cast<std::ptrdiff_t>(place - log_begin_),
                 log_.end());
    place = log_begin_ + log_.size();
    return true;
}

void Edits::log(const EditStep& step) {
    if (!is_logged_) return;
    if (log_.size() == kMostSteps) {
        log_.erase(log_.begin(), log_.begin() + kMostSteps / 2);
        log_begin_ += kMostSteps / 2;
    }
    log_.push_back(step);
}

void Edits::note_added(const onnx::Message& made, const onnx::Message& parent,
                       const wire::FieldRow& list) {
    const std::lock_guard lock(mutex_);
    log({EditStep::Kind::added, &made.table(), made.loaded(), 0, parent.key(), &list});
}

void Edits::set(const onnx::Message& message, Fields fields, onnx::Pieces::Rows changed) {
    // The fields that were replaced are released without the lock: they may hold Python objects.
    {
        const std::lock_guard lock(mutex_);
        auto& entry = messages_[message.key()];
        if (!entry) {
            // Apart from its count of references, which may outlive it.
            // NOLINTNEXTLINE(modernize-make-shared)
            entry = std::shared_ptr<Entry>(new Entry{nullptr, false});
            entries_[message.key()] = entry.get();
        }
        std::swap(entry->fields, fields);
        note(message.key());
        log({EditStep::Kind::changed, &message.table(), message.loaded(), changed});
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

void Edits::set_new(const onnx::Message& message, Fields fields) {
    set(message, std::move(fields), 0);
    const std::lock_guard lock(mutex_);
    messages_.at(message.key())->from_birth = true;
}

Edits::Inside Edits::inside(const onnx::Message& message) const {
    Inside found;
    std::vector<ByteView> ranges;
    message.for_each_loaded([&](ByteView bytes) { ranges.push_back(bytes); });
    if (const auto gone = let_go_.find(message.key()); gone != let_go_.end()) {
        if (const auto entry = gone->second.lock()) {
            found.edited.emplace(message.key(), entry->fields);
        }
    }
    while (!ranges.empty()) {
        const ByteView bytes = ranges.back();
        ranges.pop_back();
        found.ranges.push_back(bytes);
        const std::uint8_t* const end = bytes.data() + bytes.size();
        for (auto each = messages_.lower_bound(bytes.data());
             each != messages_.end() && each->first <= end; ++each) {
            if (!found.edited.emplace(each->first, each->second->fields).second) continue;
            // The fields outside were added. They need not be messages: what is noted about the
            // bytes of other fields is never looked up. Content that is elsewhere is no message.
            onnx::Pieces::Walk walk(*each->second->fields);
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
    std::shared_ptr<Entry> released;  // without the lock: it may hold Python objects
    {
        const std::lock_guard lock(mutex_);
        const Inside found = inside(message);
        for (const ByteView bytes : found.ranges) remove_range(bytes);
        released = let_go(message, found);
        log({EditStep::Kind::removed, &message.table(), message.loaded()});
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

// Leaves the fields of a removed message to its objects. Not if other edited messages are inside,
// which the objects do not keep.
std::shared_ptr<Edits::Entry> Edits::let_go(const onnx::Message& message, const Inside& found) {
    const auto own = messages_.find(message.key());
    if (own == messages_.end() || !own->second->from_birth || found.edited.size() != 1) {
        return nullptr;
    }
    auto entry = std::move(own->second);
    let_go_.insert_or_assign(message.key(), entry);
    entries_.erase(message.key());
    messages_.erase(own);
    return entry;
}

void Edits::remove_range(ByteView bytes) {
    const std::uint8_t* const begin = bytes.data();
    const std::uint8_t* const end = begin + bytes.size();
    if (is_removed_at(begin)) return;  // with a message around it
    removed_.erase(removed_.lower_bound(begin), removed_.upper_bound(end));
    removed_[begin] = end;
}

bool Edits::is_removed_at(const std::uint8_t* key) const {
    if (reverted_ > 0 && block_of(key).value_or(reverted_) < reverted_) return true;
    const auto next = removed_.upper_bound(key);
    return next != removed_.begin() && std::prev(next)->second >= key;
}

bool Edits::is_removed(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    return is_removed_at(message.key());
}

void Edits::note_replacement(const onnx::Message& made, const onnx::Message& replaced) {
    const std::lock_guard lock(mutex_);
    const auto before = first_in_place_.extract(replaced.key());
    first_in_place_.insert_or_assign(made.key(), before.empty() ? replaced : before.mapped());
}

onnx::Message Edits::first_in_place(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    const auto found = first_in_place_.find(message.key());
    return found == first_in_place_.end() ? message : found->second;
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
    Entries messages;
    {
        const std::lock_guard lock(mutex_);
        messages.swap(messages_);
        entries_.clear();
        removed_.clear();
        first_in_place_.clear();
        reverted_ = blocks_.size();
        // Objects may still read the blocks. A model that is edited and reverted again and again
        // must not keep a large one each time.
        if (!blocks_.empty()) used_ = blocks_.back()->size();
        next_block_ = kFirstEditBlock;
        forget_all();
        log_begin_ += log_.size() + 1;
        log_.clear();
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

Edits::ByKey Edits::messages_in(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    return inside(message).edited;
}

}  // namespace onnxmap::model
