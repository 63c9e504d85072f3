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
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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

    /// Names that are added from now on are copied.
    void copy_from_now_on();

    [[nodiscard]] static std::uint32_t hash_of(std::string_view name) noexcept;
    /// Prefetches the slot that add() will read for a name with this hash.
    // Inline at each call: gcc sees no effect of a function that only prefetches, and drops calls
    // of it in the same unity batch.
    [[gnu::always_inline]] void prefetch(std::uint32_t hash) const noexcept {
        if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
    }
    /// add() of a name whose hash is known.
    Added add(std::string_view name, std::uint32_t hash);

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
    Added add_to_slots(std::string_view name, std::uint32_t hash);
    void append(std::string_view name);
    void grow(std::size_t slots);

    os::LargeVector<std::string_view> names_;
    os::LargeVector<Slot> slots_;  // a power of two, at most half are taken; none at first
    // Copies of names, which never move. Null while names are viewed.
    std::unique_ptr<std::pmr::monotonic_buffer_resource> copies_;
};

/// For containers of the standard library with names from files as keys: no file can make one slow.
struct NameHash {
    std::size_t operator()(std::string_view name) const noexcept {
        return NameTable::hash_of(name);
    }
};
template <class T>
using NameMap = std::unordered_map<std::string_view, T, NameHash>;
using NameSet = std::unordered_set<std::string_view, NameHash>;
/// The same with names of their own.
template <class T>
using TextMap = std::unordered_map<std::string, T, NameHash>;
using TextSet = std::unordered_set<std::string, NameHash>;

/// Adds names to a table, each after the slots of the next 16 are prefetched. That takes a third of
/// the time of adding 1,000,000 names at once. `T` is what the caller knows about a name.
template <class T>
class NamesInFlight {
  public:
    explicit NamesInFlight(NameTable& table) : table_(table) {}

    /// Adds a name later. Calls added(NameTable::Added, T) for an earlier one, in order.
    // Inline, and member by member: gcc would pass `about`, and copy a whole Name, through the
    // stack in other units than they were written in. The processor waits for such stores: for a
    // third of the time of an index of 200,000 nodes.
    template <class Visit>
    [[gnu::always_inline]] void add(std::string_view name, T about, Visit&& added) {
        if (last_ - first_ == kMost) add_first(added);
        Name& last = names_[last_++ % kMost];
        last.name = name;
        last.hash = NameTable::hash_of(name);
        last.about = about;
        table_.prefetch(last.hash);
    }

    /// Adds all names that wait.
    template <class Visit>
    void finish(Visit&& added) {
        while (first_ < last_) add_first(added);
    }

  private:
    static constexpr std::size_t kMost = 16;
    struct Name {
        std::string_view name;
        std::uint32_t hash;
        T about;
    };

    template <class Visit>
    void add_first(Visit& added) {
        const Name& name = names_[first_++ % kMost];
        added(table_.add(name.name, name.hash), name.about);
    }

    NameTable& table_;
    std::array<Name, kMost> names_{};
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

}  // namespace onnxmap::model
