#include "base/name_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/made_once.hpp"

namespace onnxmap {

namespace {

// Up to this many names are compared one by one. Most lists have no more, and then need no memory.
constexpr std::size_t kFew = 8;

using Seeds = std::array<std::uint64_t, 2>;

const Seeds& seeds() {
    constinit static std::atomic<const Seeds*> made = nullptr;
    return made_once(made, [] {
        std::random_device random;
        const auto next = [&] { return std::uint64_t{random()} << 32 | random(); };
        return std::make_unique<const Seeds>(Seeds{next(), next() | 1});
    });
}

// Combines both halves of the product, so that each bit of the result depends on all bits of both
// numbers.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint32_t hash_of(std::string_view name) {
    const Seeds& seed = seeds();
    std::uint64_t hash = seed[0] ^ name.size();
    while (!name.empty()) {
        std::uint64_t word = 0;
        const std::size_t count = std::min(name.size(), sizeof word);
        std::memcpy(&word, name.data(), count);
        hash = fold(hash ^ word, seed[1]);
        name.remove_prefix(count);
    }
    return static_cast<std::uint32_t>(fold(hash, seed[1]));
}

}  // namespace

std::size_t NameTable::slot_of(std::string_view name, std::uint32_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].position != kFree &&
           (slots_[i].hash != hash || this->name(slots_[i].position) != name)) {
        i = (i + 1) & mask;
    }
    return i;
}

void NameTable::grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<std::size_t>(old.size() * 2, 4 * kFew), {0, kFree});
    const auto put = [&](std::uint32_t hash, std::uint32_t position) {
        slots_[slot_of(name(position), hash)] = {hash, position};
    };
    if (old.empty()) {
        for (std::uint32_t i = 0; i < size(); ++i) put(hash_of(name(i)), i);
    }
    for (const Slot& slot : old) {
        if (slot.position != kFree) put(slot.hash, slot.position);
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
    if (2 * (ends_.size() + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[slot_of(name, hash)];
    if (slot.position != kFree) return {slot.position, false};
    if (size() >= kFree - 1) throw std::length_error("more than 2^32 names in one list");
    slot = {hash, size()};
    append(name);
    return {slot.position, true};
}

void NameTable::append(std::string_view name) {
    text_.insert(text_.end(), name.begin(), name.end());
    ends_.push_back(text_.size());
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

}  // namespace onnxmap
