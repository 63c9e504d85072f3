// Which element of one list is which element of another. All of it takes n log n time at most,
// whatever a file contains.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/name_table.hpp"

namespace onnxmap::compare {

/// Pairs of elements of two lists. An element is in at most one pair.
class Matching {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    Matching(std::size_t count_a, std::size_t count_b)
        : of_a_(count_a, kNone), of_b_(count_b, kNone) {}

    /// The partner of an element of the first list, or kNone.
    [[nodiscard]] std::uint32_t of_a(std::uint32_t i) const noexcept { return of_a_[i]; }
    [[nodiscard]] std::uint32_t of_b(std::uint32_t j) const noexcept { return of_b_[j]; }
    [[nodiscard]] std::uint32_t count_a() const noexcept {
        return static_cast<std::uint32_t>(of_a_.size());
    }
    [[nodiscard]] std::uint32_t count_b() const noexcept {
        return static_cast<std::uint32_t>(of_b_.size());
    }
    /// How many elements have no partner.
    [[nodiscard]] bool complete() const noexcept {
        return pairs_ == of_a_.size() || pairs_ == of_b_.size();
    }

    void pair(std::uint32_t i, std::uint32_t j) noexcept {
        of_a_[i] = j;
        of_b_[j] = i;
        ++pairs_;
    }

    /// Pairs elements that have no partner yet and have equal keys: the first with the first, the
    /// second with the second, and so on. `key_a(i)` and `key_b(j)` return a text that may be gone
    /// after the next call; elements with an empty key are left out. `unique`: only keys that occur
    /// once in each list.
    template <class KeyA, class KeyB>
    void pair_by(KeyA&& key_a, KeyB&& key_b, bool unique = false) {
        if (complete()) return;
        model::NameTable keys(model::NameTable::Text::copied);
        std::vector<std::uint32_t> first;  // of each key: the first element of list A that is left
        std::vector<std::uint32_t> last;
        std::vector<std::uint32_t> next(of_a_.size(), kNone);
        std::vector<std::uint32_t> times_b;
        for (std::uint32_t i = 0; i < count_a(); ++i) {
            if (of_a_[i] != kNone) continue;
            const std::string_view key = key_a(i);
            if (key.empty()) continue;
            const auto [position, is_new] = keys.add(key);
            if (is_new) {
                first.push_back(i);
                last.push_back(i);
            } else {
                next[last[position]] = i;
                last[position] = i;
            }
        }
        if (first.empty()) return;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // position of the key, j
        if (unique) times_b.resize(first.size());
        for (std::uint32_t j = 0; j < count_b(); ++j) {
            if (of_b_[j] != kNone) continue;
            const std::string_view key = key_b(j);
            const auto position = key.empty() ? std::nullopt : keys.find(key);
            if (!position) continue;
            if (unique) {
                ++times_b[*position];
                found.emplace_back(*position, j);
            } else if (const std::uint32_t i = first[*position]; i != kNone) {
                first[*position] = next[i];
                pair(i, j);
            }
        }
        for (const auto& [position, j] : found) {
            const bool once = first[position] == last[position] && times_b[position] == 1;
            if (once) pair(first[position], j);
        }
    }

    /// The elements of the first list whose partners are not in the order of the list: all but a
    /// longest ascending sequence.
    [[nodiscard]] std::vector<bool> moved() const;

  private:
    std::vector<std::uint32_t> of_a_;
    std::vector<std::uint32_t> of_b_;
    std::size_t pairs_ = 0;
};

/// Pairs of equal keys, ascending in both lists: the ends, and as many as possible between them.
/// Between the ends, a key that is empty or occurs twice in a list has no partner.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> ascending_pairs(
    std::span<const std::string_view> a, std::span<const std::string_view> b);

}  // namespace onnxmap::compare
