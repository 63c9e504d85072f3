#include "model/edit_log.hpp"

namespace onnxmap::model {

namespace {

// Steps that are kept, some 2 MB. What follows the log and has missed more reads all anew.
constexpr std::size_t kMostSteps = 1 << 15;

}  // namespace

std::uint64_t EditLog::start() {
    is_started_ = true;
    return begin_ + steps_.size();
}

void EditLog::add(const EditStep& step) {
    if (!is_started_) return;
    if (steps_.size() == kMostSteps) {
        steps_.erase(steps_.begin(), steps_.begin() + kMostSteps / 2);
        begin_ += kMostSteps / 2;
    }
    steps_.push_back(step);
}

bool EditLog::steps_since(std::uint64_t& place, std::vector<EditStep>& steps) const {
    if (place < begin_) return false;
    steps.insert(steps.end(), steps_.begin() + static_cast<std::ptrdiff_t>(place - begin_),
                 steps_.end());
    place = begin_ + steps_.size();
    return true;
}

void EditLog::clear() {
    begin_ += steps_.size() + 1;
    steps_.clear();
}

}  // namespace onnxmap::model
