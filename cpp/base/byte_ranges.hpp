// A set of byte ranges: the bytes that have been processed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace onnxmap {

struct ByteRange {
    std::uint64_t begin, end;

    [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
};

class ByteRanges {
  public:
    /// Calls work(begin, end) for each part of begin .. end that is not in the set, in order.
    template <class Work>
    void for_each_missing(std::uint64_t begin, std::uint64_t end, Work&& work) const {
        auto next = std::lower_bound(
            ranges_.begin(), ranges_.end(), begin,
            [](const ByteRange& range, std::uint64_t at) { return range.end <= at; });
        for (; begin < end; ++next) {
            const std::uint64_t stop = next == ranges_.end() ? end : std::min(end, next->begin);
            if (begin < stop) work(begin, stop);
            if (next == ranges_.end()) break;
            begin = next->end;
        }
    }

    void add(std::uint64_t begin, std::uint64_t end) {
        ByteRange range{begin, end};
        auto first = std::lower_bound(
            ranges_.begin(), ranges_.end(), begin,
            [](const ByteRange& known, std::uint64_t at) { return known.end < at; });
        auto last = first;
        for (; last != ranges_.end() && last->begin <= range.end; ++last) {
            range.begin = std::min(range.begin, last->begin);
            range.end = std::max(range.end, last->end);
        }
        ranges_.insert(ranges_.erase(first, last), range);
    }

    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
    [[nodiscard]] std::uint64_t nbytes() const noexcept {
        std::uint64_t sum = 0;
        for (const ByteRange& range : ranges_) sum += range.nbytes();
        return sum;
    }
    [[nodiscard]] auto begin() const noexcept { return ranges_.begin(); }
    [[nodiscard]] auto end() const noexcept { return ranges_.end(); }

  private:
    std::vector<ByteRange> ranges_;  // sorted, apart from each other
};

}  // namespace onnxmap
