// Maps names to positions, so that an element of a list is found by name in one look-up. Adding
// 1,000,000 names twice takes a sixth of the processor time of std::unordered_map with this hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "os/large_vector.hpp"

namespace onnxmap::model {

/// A hash table from names to 0, 1, 2 ... in the order in which they were added. Files choose the
/// names, so each process uses a new random seed: no file can make a table slow.
class NameTable {
  public:
    enum class Text {
        viewed,  ///< the names that are added must outlive the table
        copied
    };
    explicit NameTable(Text text = Text::viewed);

    struct Added {
        std::uint32_t position;
        bool is_new;
    };

    /// Makes room for this many names at once. More can follow.
    void reserve(std::uint64_t names);

    /// Returns the position of `name`, which is the next one if the name is new. Throws
    /// std::length_error for more than 2^32 - 2 names.
    Added add(std::string_view name);

    /// A name and its hash.
    struct Hashed {
        std::string_view name;
        std::uint32_t hash;
    };
    [[nodiscard]] static Hashed hashed(std::string_view name) noexcept;
    /// Prefetches the slot that add() will read.
    void prefetch(const Hashed& hashed) const noexcept;
    /// add() of the name.
    Added add(const Hashed& hashed);

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(names_.size());
    }
    [[nodiscard]] std::string_view name(std::uint32_t position) const noexcept {
        return names_[position];
    }
    [[nodiscard]] std::span<const std::string_view> names() const noexcept { return names_; }

  private:
    struct Slot {
        std::uint32_t hash;
        std::uint32_t position;  // kFree: none
    };
    static constexpr std::uint32_t kFree = UINT32_MAX;

    // The slot of the name, or the free slot in which it belongs. The table must have slots.
    [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const noexcept;
    Added add_to_slots(const Hashed& hashed);
    void append(std::string_view name);
    void grow(std::size_t slots);

    os::LargeVector<std::string_view> names_;
    os::LargeVector<Slot> slots_;  // a power of two, at most half are taken; none at first
    // Copies of names, which never move. Null if the names are viewed.
    std::unique_ptr<std::pmr::monotonic_buffer_resource> copies_;
};

/// Adds names to a table in batches, whose slots are prefetched. For 1,000,000 names, that takes
/// two thirds of the time of adding them one by one. `T` is what the caller knows about a name.
template <class T>
class NamesInFlight {
  public:
    explicit NamesInFlight(NameTable& table) : table_(table) {}

    /// Adds a name when its batch is full. Calls added(NameTable::Added, T) for each name, in
    /// order.
    template <class Visit>
    void add(std::string_view name, T about, Visit&& added) {
        Name& next = names_[count_++];
        next = {NameTable::hashed(name), std::move(about)};
        table_.prefetch(next.hashed);
        if (count_ == kMost) finish(added);
    }

    /// Adds all names that wait.
    template <class Visit>
    void finish(Visit&& added) {
        for (std::size_t i = 0; i < count_; ++i)
            added(table_.add(names_[i].hashed), names_[i].about);
        count_ = 0;
    }

  private:
    static constexpr std::size_t kMost = 16;
    struct Name {
        NameTable::Hashed hashed;
        T about;
    };

    NameTable& table_;
    std::array<Name, kMost> names_{};
    std::size_t count_ = 0;
};

}  // namespace onnxmap::model
