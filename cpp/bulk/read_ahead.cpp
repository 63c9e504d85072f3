#include "bulk/read_ahead.hpp"

#include <algorithm>

#include "source/pages_ahead.hpp"

namespace onnxmap::bulk {

namespace {

// With a read-ahead of at least this size, touching pages in order keeps the disk busy and reads in
// large pieces. Pages that the system is asked for come one by one, and cost more to map and to
// drop. On two processors and a virtual disk, a stream of 3.4 GB takes 2.0 to 2.3 s, and 2.9 to 3.4
// s.
constexpr std::uint64_t kFarAhead = 1 << 20;
// The shortest run of neighbours, in read-aheads: the system reads on behind its end.
constexpr std::uint64_t kLongRun = 4;
static_assert(kLongRun * kFarAhead == ReadAhead::kLeast);

}  // namespace

std::uint64_t ReadAhead::enter(const Item& item) {
    const source::Source& source = *plan_.source(item);
    nbytes_ = source.size() < kLeast ? 0 : of_(source);
    run_ = {0, 0};
    return nbytes_;
}

bool ReadAhead::is_far(std::size_t first, std::uint64_t begin, std::uint64_t end) {
    if (nbytes_ < kFarAhead || nbytes_ > most_) return false;
    if (begin < run_.begin || begin >= run_.end) run_ = run_at(first, begin, end);
    return nbytes_ <= (run_.end - run_.begin) / kLongRun;
}

// Items so near to each other that reading on takes no longer than going there.
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
