// The bytes of the messages that edits removed.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "base/bytes.hpp"

namespace onnxmap::model {

/// Callers have a lock.
class RemovedRanges {
  public:
    /// Adds a range that does not begin in one of them.
    void add(ByteView bytes) {
        const std::uint8_t* const begin = bytes.data();
        const std::uint8_t* const end = begin + bytes.size();
        ranges_.erase(ranges_.lower_bound(begin), ranges_.upper_bound(end));
        ranges_[begin] = end;
    }

    [[nodiscard]] bool contains(const std::uint8_t* key) const {
        const auto next = ranges_.upper_bound(key);
        return next != ranges_.begin() && std::prev(next)->second >= key;
    }

    void clear() { ranges_.clear(); }

  private:
    std::map<const std::uint8_t*, const std::uint8_t*> ranges_;  // both ends belong to it
};

}  // namespace onnxmap::model
