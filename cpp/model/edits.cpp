#include "model/edits.hpp"

#include <algorithm>
#include <mutex>
#include <set>
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

// Who held the fields of a removed message may have released them meanwhile, in another thread.
// What is released may hold Python objects: never below the lock.
Edits::Fields Edits::find(const std::uint8_t* key) const {
    Gone gone;
    const std::lock_guard lock(mutex_);
    const auto found = fields_.find(key);
    if (found != fields_.end()) return *found->second;
    if (let_go_.empty()) return nullptr;
    const auto left = let_go_.find(key);
    if (left == let_go_.end()) return nullptr;
    gone = left->second.lock();
    if (!gone) onnx::fail_edited_meanwhile();
    return gone->at(key);
}

std::shared_ptr<const void> Edits::keep_alive(const onnx::Message& message) {
    if (count() == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    return block_of(message.key()) ? life_of(message) : nullptr;
}

Edits::LifePtr Edits::life_of(const onnx::Message& message) {
    if (lives_.size() >= most_lives_) {
        std::erase_if(lives_, [](const auto& each) { return each.second.expired(); });
        most_lives_ = 2 * lives_.size() + 1024;
    }
    std::weak_ptr<Life>& known = lives_[message.key()];
    LifePtr life = known.lock();
    if (!life) {
        life = std::make_shared<Life>(Life{message.loaded(), gone_at(message.key())});
        known = life;
    }
    return life;
}

// What holds the fields of a removed message: of the messages around it, the innermost that was
// removed. Null if it is not removed, or with a message that was loaded.
Edits::Gone Edits::gone_at(const std::uint8_t* key) const {
    if (gone_.empty() || !is_removed_at(key)) return nullptr;
    for (auto each = gone_.upper_bound(key); each != gone_.begin();) {
        const GoneRange& range = (--each)->second;
        if (range.end < key) continue;
        if (Gone gone = range.gone.lock()) return gone;
    }
    return nullptr;
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
        Fields& known = messages_[message.key()];
        if (!known) fields_[message.key()] = &known;
        if (keepers_ > 0 && known) kept_.push_back(known);
        std::swap(known, fields);
        note(message.key());
        log({EditStep::Kind::changed, &message.table(), message.loaded(), changed});
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

namespace {

std::vector<ByteView> loaded_ranges(const onnx::Message& message) {
    std::vector<ByteView> ranges;
    message.for_each_loaded([&](ByteView bytes) { ranges.push_back(bytes); });
    return ranges;
}

}  // namespace

Edits::Inside Edits::inside(const onnx::Message& message, const ByKey& edited) {
    Inside found;
    add_inside(found, loaded_ranges(message), edited);
    return found;
}

void Edits::add_inside(Inside& found, std::vector<ByteView> ranges, const ByKey& edited) {
    while (!ranges.empty()) {
        const ByteView bytes = ranges.back();
        ranges.pop_back();
        found.ranges.push_back(bytes);
        const std::uint8_t* const end = bytes.data() + bytes.size();
        for (auto each = edited.lower_bound(bytes.data());
             each != edited.end() && each->first <= end; ++each) {
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
}

void Edits::remove(const onnx::Message& message) { remove(loaded_ranges(message), {&message, 1}); }

void Edits::remove(std::span<const onnx::Message> run) {
    if (run.empty()) return;
    const ByteView last = run.back().loaded();
    remove({ByteView(run.front().key(), last.data() + last.size())}, run);
}

void Edits::remove(std::vector<ByteView> ranges, std::span<const onnx::Message> messages) {
    Inside found;  // released without the lock: it may hold Python objects
    std::vector<LifePtr> lives;
    {
        const std::lock_guard lock(mutex_);
        add_inside(found, std::move(ranges), messages_);
        if (keepers_ > 0)
            for (const auto& [key, fields] : found.edited) kept_.push_back(fields);
        for (const ByteView bytes : found.ranges) {
            remove_range(bytes);
            first_in_place_.erase(first_in_place_.lower_bound(bytes.data()),
                                  first_in_place_.upper_bound(bytes.data() + bytes.size()));
        }
        if (block_of(messages.front().key())) {
            lives = lives_in(found.ranges);
            let_go(found, lives);
        }
        for (const onnx::Message& each : messages)
            log({EditStep::Kind::removed, &each.table(), each.loaded()});
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

// The messages in some ranges that objects refer to.
std::vector<Edits::LifePtr> Edits::lives_in(const std::vector<ByteView>& ranges) const {
    std::vector<LifePtr> lives;
    for (const ByteView bytes : ranges) {
        const auto end = lives_.upper_bound(bytes.data() + bytes.size());
        for (auto each = lives_.lower_bound(bytes.data()); each != end; ++each) {
            if (LifePtr life = each->second.lock()) lives.push_back(std::move(life));
        }
    }
    return lives;
}

// Leaves what was in a removed message to those objects of messages in it that have nothing yet:
// the others were removed before.
void Edits::let_go(const Inside& found, const std::vector<LifePtr>& lives) {
    Gone gone;
    for (const LifePtr& life : lives) {
        if (life->gone) continue;
        if (!gone) gone = std::make_shared<const ByKey>(found.edited);
        life->gone = gone;
    }
    for (const auto& [key, fields] : found.edited) {
        let_go_.insert_or_assign(key, gone);
        fields_.erase(key);
        messages_.erase(key);
    }
    if (!gone) return;
    if (gone_.size() >= most_gone_) {
        std::erase_if(gone_, [](const auto& each) { return each.second.gone.expired(); });
        most_gone_ = 2 * gone_.size() + 16;
    }
    for (const ByteView bytes : found.ranges) {
        gone_.insert_or_assign(bytes.data(), GoneRange{bytes.data() + bytes.size(), gone});
    }
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
    auto before = first_in_place_.extract(replaced.key());
    // Without its fields, which may hold arrays.
    const onnx::Message first = before.empty() ? onnx::Message(replaced.table(), replaced.loaded())
                                               : std::move(before.mapped());
    first_in_place_.insert_or_assign(made.key(), first);
}

onnx::Message Edits::first_in_place(const onnx::Message& message) const {
    const std::lock_guard lock(mutex_);
    const auto found = first_in_place_.find(message.key());
    return found == first_in_place_.end() ? message : found->second;
}

struct Edits::Tombstone {
    bool is_vacated = false;
    onnx::Message left = {};
    LifePtr kept = nullptr;  // of it
};

Edits::TombstonePtr Edits::place_of(const onnx::Message& parent, const wire::FieldRow& row) {
    if (count() == 0 && !has_vacated_) return nullptr;
    const std::lock_guard lock(mutex_);
    if (places_.size() >= most_places_) {
        std::erase_if(places_, [](const auto& each) {
            return !each.second.first && each.second.now.expired();
        });
        most_places_ = 2 * places_.size() + 16;
    }
    Places& places = places_[{parent.key(), &row}];
    std::shared_ptr<Tombstone> place = places.now.lock();
    if (!place) {
        place = std::make_shared<Tombstone>();
        places.now = place;
    }
    return place;
}

void Edits::note_vacated(const onnx::Message& parent, const wire::FieldRow& row,
                         const onnx::Message& left) {
    std::shared_ptr<Tombstone> now;  // released without the lock: it may hold Python objects
    const std::lock_guard lock(mutex_);
    has_vacated_ = true;
    const std::pair place_key(parent.key(), &row);
    const auto found = places_.find(place_key);
    if (found != places_.end()) now = std::exchange(found->second.now, {}).lock();
    std::shared_ptr<Tombstone> first;
    const bool is_added = block_of(left.key()).has_value();
    if ((is_added || left.key() == nullptr) && !block_of(parent.key())) {
        auto& known = places_[place_key].first;
        if (!known) known = std::make_shared<Tombstone>();
        first = known;
    }
    for (Tombstone* const place : {now.get(), first.get()}) {
        if (place == nullptr || place->is_vacated) continue;
        *place = {true, left, is_added ? life_of(left) : nullptr};
    }
}

std::optional<onnx::Message> Edits::left(const onnx::Message& parent, const wire::FieldRow& row,
                                         const TombstonePtr& place) const {
    if (!has_vacated_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const Tombstone* known = place.get();
    if (known == nullptr) {
        const auto found = places_.find({parent.key(), &row});
        if (found != places_.end()) known = found->second.first.get();
    }
    return known != nullptr && known->is_vacated ? std::optional(known->left) : std::nullopt;
}

// The objects of messages that were added keep what they show.
void Edits::revert() {
    ByKey messages;  // released without the lock, as all that follows
    std::map<LifePtr, Inside> lives;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, known] : lives_) {
            LifePtr life = known.lock();
            if (life) lives.emplace(std::move(life), Inside{});
        }
        std::set<LifePtr> inner;  // they share what the outermost of them keeps
        for (auto& [life, found] : lives) {
            if (life->gone) continue;
            add_inside(found, {life->loaded}, messages_);
            for (const LifePtr& each : lives_in(found.ranges)) {
                if (each != life) inner.insert(each);
            }
        }
        messages.swap(messages_);
        fields_.clear();
        for (const auto& [life, found] : lives) {
            if (!life->gone && !inner.contains(life)) let_go(found, lives_in(found.ranges));
        }
        removed_.clear();
        first_in_place_.clear();
        reverted_ = blocks_.size();
        // Objects may still read the blocks. A model that is edited and reverted again and again
        // must not keep a large one each time.
        if (!blocks_.empty()) used_ = blocks_.back()->size();
        next_block_ = kFirstEditBlock;
        forget_all();
        std::erase_if(let_go_, [](const auto& each) { return each.second.expired(); });
        for (const auto& [key, gone] : let_go_) note(key);
        log_begin_ += log_.size() + 1;
        log_.clear();
    }
    count_.fetch_add(1, std::memory_order_acq_rel);
}

bool Edits::edited() const {
    const std::lock_guard lock(mutex_);
    return !messages_.empty();
}

Edits::ByKey Edits::messages_in(const onnx::Message& message) const {
    Gone gone;
    const std::lock_guard lock(mutex_);
    gone = gone_at(message.key());
    return inside(message, gone ? *gone : messages_).edited;
}

}  // namespace onnxmap::model
