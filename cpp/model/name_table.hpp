// Maps names to positions, so that an element of a list is found by name in one look-up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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
    explicit NameTable(Text text = Text::viewed) : text_(text) {}

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
    /// Prefetches the slot that add() will read. In a large table, a loop that prepares a few names
    /// before it adds the first one is several times as fast.
    [[nodiscard]] Hashed prepare(std::string_view name) const noexcept;

    /// The same in two steps: the first one needs no table.
    [[nodiscard]] static Hashed hashed(std::string_view name) noexcept;
    void prefetch(const Hashed& hashed) const noexcept;

    /// add() of the name.
    Added add(const Hashed& prepared);

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(names_.size());
    }
    [[nodiscard]] std::string_view name(std::uint32_t position) const noexcept {
        return names_[position];
    }

  private:
    struct Slot {
        std::uint32_t hash;
        std::uint32_t position;  // kFree: none
    };
    static constexpr std::uint32_t kFree = UINT32_MAX;

    // The slot of the name, or the free slot in which it belongs. The table must have slots.
    [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const noexcept;
    Added add_to_slots(const Hashed& prepared);
    void append(std::string_view name);
    void grow(std::size_t slots);
    std::string_view copy(std::string_view name);

    Text text_;
    os::LargeVector<std::string_view> names_;
    os::LargeVector<Slot> slots_;  // a power of two, at most half are taken; none at first
    // Copies of names, in blocks that never move.
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* next_ = nullptr;
    std::size_t room_ = 0;  // behind next_
};

/// Adds many names to a table: each waits until a few more are prepared. `T` is what the caller
/// knows about a name.
template <class T>
class NamesInFlight {
  public:
    explicit NamesInFlight(NameTable& table) : table_(table) {}

    /// Adds a name later. Calls added(NameTable::Added, T) for an earlier one, in order.
    template <class Visit>
    void add(std::string_view name, T about, Visit&& added) {
        if (next_ - first_ == kMost) add_first(added);
        names_[next_++ % kMost] = {table_.prepare(name), std::move(about)};
    }

    /// Adds all names that wait.
    template <class Visit>
    void finish(Visit&& added) {
        while (first_ < next_) add_first(added);
    }

  private:
    static constexpr std::size_t kMost = 16;
    struct Name {
        NameTable::Hashed hashed;
        T about;
    };

    template <class Visit>
    void add_first(Visit& added) {
        Name& name = names_[first_++ % kMost];
        added(table_.add(name.hashed), name.about);
    }

    NameTable& table_;
    std::array<Name, kMost> names_{};
    std::uint64_t first_ = 0;
    std::uint64_t next_ = 0;
};

}  // namespace onnxmap::model
