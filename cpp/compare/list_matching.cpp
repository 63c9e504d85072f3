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

}  // namespace onnxmap::compare
