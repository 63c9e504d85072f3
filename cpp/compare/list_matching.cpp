#include "compare/list_matching.hpp"

#include <algorithm>

namespace onnxmap::compare {

std::vector<bool> Matching::moved() const {
    std::vector<bool> moved(of_a_.size());
    // ends[n]: the element of list A at which an ascending sequence of n + 1 elements ends, the one
    // whose partner comes first.
    std::vector<std::uint32_t> ends;
    std::vector<std::uint32_t> before(of_a_.size(), kNone);
    for (std::uint32_t i = 0; i < count_a(); ++i) {
        const std::uint32_t partner = of_a_[i];
        if (partner == kNone) continue;
        moved[i] = true;
        const auto place = std::ranges::lower_bound(
            ends, partner, {}, [&](std::uint32_t element) { return of_a_[element]; });
        if (place != ends.begin()) before[i] = *(place - 1);
        if (place == ends.end()) {
            ends.push_back(i);
        } else {
            *place = i;
        }
    }
    for (std::uint32_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = before[i]) {
        moved[i] = false;
    }
    return moved;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> ascending_pairs(
    std::span<const std::string_view> a, std::span<const std::string_view> b) {
    const std::size_t head = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const auto rest_a = a.subspan(head);
    const auto rest_b = b.subspan(head);
    const auto tail = static_cast<std::size_t>(
        std::ranges::mismatch(rest_a.rbegin(), rest_a.rend(), rest_b.rbegin(), rest_b.rend()).in1 -
        rest_a.rbegin());
    Matching between(rest_a.size() - tail, rest_b.size() - tail);
    between.pair_by([&](std::uint32_t i) { return rest_a[i]; },
                    [&](std::uint32_t j) { return rest_b[j]; }, true);
    const std::vector<bool> moved = between.moved();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    pairs.reserve(std::min(a.size(), b.size()));
    for (std::uint32_t i = 0; i < head; ++i) pairs.emplace_back(i, i);
    const auto begin = static_cast<std::uint32_t>(head);
    for (std::uint32_t i = 0; i < between.count_a(); ++i) {
        const std::uint32_t j = between.of_a(i);
        if (j != Matching::kNone && !moved[i]) pairs.emplace_back(begin + i, begin + j);
    }
    for (std::size_t i = tail; i > 0; --i) {
        pairs.emplace_back(static_cast<std::uint32_t>(a.size() - i),
                           static_cast<std::uint32_t>(b.size() - i));
    }
    return pairs;
}

}  // namespace onnxmap::compare
