#include "bulk/read_ahead.hpp"

#include <algorithm>

#include "source/pages_ahead.hpp"

namespace onnxmap::bulk {

void ReadAhead::enter(const Item& item) {
    const source::Source& source = *plan_.source(item);
    nbytes_ = source.size() < kLeast ? 0 : ask_(source);
    run_ = {0, 0};
}

bool ReadAhead::is_far(std::size_t first, std::uint64_t begin, std::uint64_t end) {
    if (nbytes_ < kFar || nbytes_ > most_) return false;
    if (begin < run_.begin || begin >= run_.end) run_ = run_at(first, begin, end);
    return nbytes_ <= (run_.end - run_.begin) / kLongRun;
}

// Items so close together that reading the gap takes no longer than seeking past it.
ReadAhead::Range ReadAhead::run_at(std::size_t first, std::uint64_t begin,
                                   std::uint64_t end) const {
    Range run{begin, end};
    for (const Item& item : items_.subspan(first)) {
        if (item.reading != items_[first].reading || item.source != items_[first].source) break;
        if (item.offset > run.end + source::PagesAhead::kFar) break;
        run.end = std::max(run.end, item.stored_end());
    }
    return run;
}

}  // namespace onnxmap::bulk
