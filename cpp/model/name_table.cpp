#include "model/name_table.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/made_once.hpp"
#include "os/random_number.hpp"

namespace onnxmap::model {

namespace {

// Up to this many names are compared one by one. Most lists have no more, and then need no memory.
constexpr std::size_t kFew = 8;

const HashSeeds& seeds() {
    constinit static std::atomic<const HashSeeds*> made = nullptr;
    return made_once(made, [] { return std::make_unique<const HashSeeds>(os::random_seeds()); });
}

template <class Word>
std::uint64_t load(const char* p) noexcept {
    Word word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// All bytes of fewer than eight, in one word.
std::uint64_t few_bytes(const char* p, std::size_t count) noexcept {
    if (count >= 4) return load<std::uint32_t>(p) | load<std::uint32_t>(p + count - 4) << 32;
    if (count == 0) return 0;
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<std::uint8_t>(p[i])}; };
    return byte(0) | byte(count / 2) << 8 | byte(count - 1) << 16;
}

}  // namespace

NameTable::NameTable(Text text) {
    if (text == Text::copied) copy_from_now_on();
}

void NameTable::copy_from_now_on() {
    if (!copies_) copies_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
}

// Words may overlap at the end: a copy of fewer bytes than eight would take longer than the rest.
std::uint32_t NameTable::hash_of(std::string_view name) noexcept {
    const HashSeeds& seed = seeds();
    const char* p = name.data();
    std::size_t left = name.size();
    std::uint64_t hash = seed[0] ^ left;
    if (left < 8) {
        hash = fold(hash ^ few_bytes(p, left), seed[1]);
    } else {
        for (; left > 16; p += 16, left -= 16) {
            hash = fold(hash ^ load<std::uint64_t>(p), seed[1] ^ load<std::uint64_t>(p + 8));
        }
        const char* const end = p + left;
        hash = fold(hash ^ load<std::uint64_t>(left < 8 ? end - 8 : p),
                    seed[1] ^ load<std::uint64_t>(end - 8));
    }
    return static_cast<std::uint32_t>(fold(hash, seed[1]));
}

std::size_t NameTable::slot_of(std::string_view name, std::uint32_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].position != kFree &&
           (slots_[i].hash != hash || this->name(slots_[i].position) != name)) {
        i = (i + 1) & mask;
    }
    return i;
}

void NameTable::reserve(std::uint64_t names) {
    if (names <= kFew || 2 * names <= slots_.size()) return;
    names_.reserve(names);
    grow(std::bit_ceil(2 * names));
}

// Names in the table differ, so each goes to the first free slot.
void NameTable::grow(std::size_t slots) {
    const auto old = std::exchange(slots_, os::LargeVector<Slot>(slots, {0, kFree}));
    const auto put = [&](Slot slot) {
        std::size_t i = slot.hash & (slots - 1);
        while (slots_[i].position != kFree) i = (i + 1) & (slots - 1);
        slots_[i] = slot;
    };
    if (old.empty()) {
        for (std::uint32_t i = 0; i < size(); ++i) put({hash_of(name(i)), i});
    }
    for (const Slot& slot : old) {
        if (slot.position != kFree) put(slot);
    }
}

NameTable::Added NameTable::add(std::string_view name) {
    if (slots_.empty()) {
        if (const auto known = find(name)) return {*known, false};
        if (size() < kFew) {
            append(name);
            return {size() - 1, true};
        }
    }
    return add_to_slots(name, hash_of(name));
}

NameTable::Added NameTable::add(std::string_view name, std::uint32_t hash) {
    return slots_.empty() ? add(name) : add_to_slots(name, hash);
}

NameTable::Added NameTable::add_to_slots(std::string_view name, std::uint32_t hash) {
    if (2 * (names_.size() + 1) > slots_.size()) grow(std::max(2 * slots_.size(), 4 * kFew));
    Slot& slot = slots_[slot_of(name, hash)];
    if (slot.position != kFree) return {slot.position, false};
    if (size() >= kFree - 1) throw std::length_error("more than 2^32 names in one list");
    slot = {hash, size()};
    append(name);
    return {slot.position, true};
}

void NameTable::append(std::string_view name) {
    if (copies_ && !name.empty()) {
        auto* const copy = static_cast<char*>(copies_->allocate(name.size(), 1));
        std::memcpy(copy, name.data(), name.size());
        name = {copy, name.size()};
    }
    names_.push_back(name);
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const noexcept {
    if (slots_.empty()) {
        for (std::uint32_t i = 0; i < size(); ++i) {
            if (this->name(i) == name) return i;
        }
        return std::nullopt;
    }
    const Slot& slot = slots_[slot_of(name, hash_of(name))];
    return slot.position == kFree ? std::nullopt : std::optional(slot.position);
}

}  // namespace onnxmap::model
