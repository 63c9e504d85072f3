// Maps names to positions, so that an element of a list is found by name in one look-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace onnxmap {

/// A hash table from names to 0, 1, 2 ... in the order in which they were added. Files choose the
/// names, so each process uses a new random seed: no file can make a table slow.
class NameTable {
  public:
    struct Added {
        std::uint32_t position;
        bool is_new;
    };

    /// Returns the position of `name`, which is the next one if the name is new. The table keeps a
    /// copy. Throws std::length_error for more than 2^32 - 2 names.
    Added add(std::string_view name);

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(ends_.size());
    }
    /// Valid until the next add().
    [[nodiscard]] std::string_view name(std::uint32_t position) const noexcept {
        const std::uint64_t begin = position == 0 ? 0 : ends_[position - 1];
        return {text_.data() + begin, static_cast<std::size_t>(ends_[position] - begin)};
    }

  private:
    struct Slot {
        std::uint32_t hash;
        std::uint32_t position;  // kFree: none
    };
    static constexpr std::uint32_t kFree = UINT32_MAX;

    // The slot of the name, or the free slot in which it belongs. The table must have slots.
    [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const noexcept;
    void append(std::string_view name);
    void grow();

    // Copies, because views of the file would map its pages at every look-up.
    std::vector<char> text_;
    std::vector<std::uint64_t> ends_;  // of each name in text_
    std::vector<Slot> slots_;          // a power of two, at most half are taken; none at first
};

}  // namespace onnxmap
