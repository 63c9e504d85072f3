#include "model/edits.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "onnx/schema.hpp"

namespace onnxmap::model {

namespace {

// Whether a field begins in a range. What is allocated next may begin at the end of the range.
bool begins_in(ByteView bytes, const wire::Field& field) noexcept {
    return bytes.data() <= field.begin && field.begin < bytes.data() + bytes.size();
}

}  // namespace

// What is released may hold Python objects: never below the lock.
Edits::Fields Edits::find(const std::uint8_t* key) const {
    Lives::Gone gone;
    const std::lock_guard lock(mutex_);
    const auto found = fields_.find(key);
    if (found != fields_.end()) return *found->second;
    gone = lives_.holder_of(key);
    return gone ? gone->at(key) : nullptr;
}

std::shared_ptr<const void> Edits::keep_alive(const onnx::Message& message) {
    if (count() == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    return arena_.has(message.key()) ? life_of(message) : nullptr;
}

Edits::LifePtr Edits::life_of(const onnx::Message& message) {
    if (LifePtr known = lives_.find(message.key())) return known;
    return lives_.add(message.loaded(), gone_at(message.key()));
}

// What holds the fields of a removed message. Null if it is not removed, or with a message that was
// loaded.
Lives::Gone Edits::gone_at(const std::uint8_t* key) const {
    return is_removed_at(key) ? lives_.innermost_around(key) : nullptr;
}

bool Edits::is_added(const std::uint8_t* key) const {
    const std::lock_guard lock(mutex_);
    return arena_.has(key);
}

std::span<std::uint8_t> Edits::allocate(std::uint64_t nbytes) {
    const std::lock_guard lock(mutex_);
    return arena_.allocate(nbytes);
}

ByteView Edits::keep(std::string_view bytes) {
    const auto place = allocate(bytes.size());
    std::ranges::copy(as_bytes(bytes), place.begin());
    return place;
}

onnx::HeldContent Edits::hold(std::shared_ptr<const source::Source> source, ByteView bytes) {
    const std::lock_guard lock(mutex_);
    return arena_.hold(std::move(source), bytes);
}

std::shared_ptr<const source::Source> Edits::source_of(ByteView bytes) const {
    const std::lock_guard lock(mutex_);
    return arena_.source_of(bytes);
}

std::uint64_t Edits::start_log() {
    const std::lock_guard lock(mutex_);
    return log_.start();
}

bool Edits::steps_since(std::uint64_t& place, std::vector<EditStep>& steps) const {
    const std::lock_guard lock(mutex_);
    return log_.steps_since(place, steps);
}

void Edits::note_added(const onnx::Message& made, const onnx::Message& parent,
                       const wire::FieldRow& list) {
    const std::lock_guard lock(mutex_);
    log_.add({EditStep::Kind::added, &made.table(), made.loaded(), 0, parent.key(), &list});
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
        log_.add({EditStep::Kind::changed, &message.table(), message.loaded(), changed});
        count_.fetch_add(1, std::memory_order_acq_rel);
    }
}

namespace {

std::vector<ByteView> loaded_ranges(const onnx::Message& message) {
    std::vector<ByteView> ranges;
    message.for_each_loaded([&](ByteView bytes) { ranges.push_back(bytes); });
    return ranges;
}

// Adds what is in some ranges.
void add_inside(InsideMessage& found, std::vector<ByteView> ranges, const EditedFields& edited) {
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

}  // namespace

void Edits::remove(const onnx::Message& message) { remove(loaded_ranges(message), {&message, 1}); }

void Edits::remove(std::span<const onnx::Message> run) {
    if (run.empty()) return;
    const ByteView last = run.back().loaded();
    remove({ByteView(run.front().key(), last.data() + last.size())}, run);
}

void Edits::remove(std::vector<ByteView> ranges, std::span<const onnx::Message> messages) {
    InsideMessage found;  // released without the lock: it may hold Python objects
    std::vector<LifePtr> lives;
    {
        const std::lock_guard lock(mutex_);
        add_inside(found, std::move(ranges), messages_);
        if (keepers_ > 0)
            for (const auto& [key, fields] : found.edited) kept_.push_back(fields);
        for (const ByteView bytes : found.ranges) {
            if (!is_removed_at(bytes.data())) removed_.add(bytes);
            first_in_place_.erase(first_in_place_.lower_bound(bytes.data()),
                                  first_in_place_.upper_bound(bytes.data() + bytes.size()));
        }
        if (arena_.has(messages.front().key())) {
            lives = lives_.in(found.ranges);
            let_go(found, lives);
        }
        for (const onnx::Message& each : messages)
            log_.add({EditStep::Kind::removed, &each.table(), each.loaded()});
        count_.fetch_add(1, std::memory_order_acq_rel);
    }
}

void Edits::let_go(const InsideMessage& found, const std::vector<LifePtr>& lives) {
    lives_.let_go(found, lives);
    for (const auto& [key, fields] : found.edited) {
        fields_.erase(key);
        messages_.erase(key);
    }
}

bool Edits::is_removed_at(const std::uint8_t* key) const {
    return arena_.is_reverted(key) || removed_.contains(key);
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

// The objects of messages that were added keep what they show.
void Edits::revert() {
    EditedFields messages;  // released without the lock, as all that follows
    std::map<LifePtr, InsideMessage> lives;
    {
        const std::lock_guard lock(mutex_);
        for (const LifePtr& life : lives_.all()) lives.emplace(life, InsideMessage{});
        std::set<LifePtr> inner;  // they share what the outermost of them keeps
        for (auto& [life, found] : lives) {
            if (life->gone) continue;
            add_inside(found, {life->loaded}, messages_);
            for (const LifePtr& each : lives_.in(found.ranges)) {
                if (each != life) inner.insert(each);
            }
        }
        messages.swap(messages_);
        fields_.clear();
        for (const auto& [life, found] : lives) {
            if (!life->gone && !inner.contains(life)) let_go(found, lives_.in(found.ranges));
        }
        removed_.clear();
        first_in_place_.clear();
        arena_.revert();
        forget_all();
        for (const std::uint8_t* const key : lives_.held_keys()) note(key);
        log_.clear();
        count_.fetch_add(1, std::memory_order_acq_rel);
    }
}

Edits::KeptFields::KeptFields(Edits& edits) : edits_(edits) {
    const std::lock_guard lock(edits_.mutex_);
    ++edits_.keepers_;
}

Edits::KeptFields::~KeptFields() {
    std::vector<Fields> released;  // without the lock: they may hold Python objects
    const std::lock_guard lock(edits_.mutex_);
    if (--edits_.keepers_ == 0) released.swap(edits_.kept_);
}

bool Edits::edited() const {
    const std::lock_guard lock(mutex_);
    return !messages_.empty();
}

EditedFields Edits::messages_in(const onnx::Message& message) const {
    Lives::Gone gone;
    InsideMessage found;
    const std::lock_guard lock(mutex_);
    gone = gone_at(message.key());
    add_inside(found, loaded_ranges(message), gone ? *gone : messages_);
    return found.edited;
}

}  // namespace onnxmap::model
