#include "model/mentions.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace onnxmap::model {

void Mentions::reserve(std::uint64_t elements, std::uint64_t names) {
    if (elements >= UINT32_MAX) throw std::length_error("more than 2^32 elements in one list");
    names_.reserve(names);
    // Memory that is left is not touched.
    mentions_.reserve(3 * names);
    ends_.resize(elements);
}

void Mentions::finish() {
    if (mentions_.size() >= UINT32_MAX || name_count() >= kMade)
        throw std::length_error("too many names in one list");
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] = std::max(ends_[i], ends_[i - 1]);
}

// Counts the elements of each part, then puts each element where those of its part begin.
Mentioners::Mentioners(const Mentions& mentions)
    : ends_(2 * std::size_t{mentions.name_count()} + 1, 0), elements_(mentions.all().size()) {
    const auto part_of = [](std::uint32_t mention) {
        return 2 * std::size_t{mention & ~Mentions::kMade} + ((mention & Mentions::kMade) == 0);
    };
    for (const std::uint32_t mention : mentions.all()) ++ends_[part_of(mention) + 1];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    for (std::uint32_t element = 0; element < mentions.element_count(); ++element) {
        for (const std::uint32_t mention : mentions.of_element(element))
            elements_[ends_[part_of(mention)]++] = element;
    }
    ends_.pop_back();
}

}  // namespace onnxmap::model
