#include "check/findings.hpp"

#include <algorithm>

namespace onnxmap::check {

void Findings::take(Findings& other) {
    for (Finding& each : other.found_) {
        // Counts those that were kept; the rest follows.
        --other.counts_[index(each.rule)];
        if (count(each.rule)) found_.push_back(std::move(each));
    }
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    other.found_.clear();
    std::ranges::fill(other.counts_, 0);
    other.before_ = counts_;
}

}  // namespace onnxmap::check
