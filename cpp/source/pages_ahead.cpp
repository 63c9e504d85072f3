#include "source/pages_ahead.hpp"

#include <algorithm>

#include "os/page_cache.hpp"

namespace onnxmap::source {

void PagesAhead::walk_to(const os::File& file, std::uint64_t offset, std::uint64_t skipped) {
    if (skipped > kFar) {
        size_ = 0;
        return;
    }
    if (size_ == 0) {
        if (skipped == 0 || offset < look_at_) return;
        if (os::is_cached(file, offset)) {
            look_at_ = offset + kLookEvery;
            return;
        }
        size_ = kLeast / 2;
        end_ = offset;
    }
    if (offset + size_ / 2 < end_) return;
    size_ = std::min(2 * size_, kMost);
    const std::uint64_t begin = std::max(offset, end_);
    const std::uint64_t end = std::min(offset + size_, file.size());
    if (begin >= end) return;
    const os::Pages pages = os::pages_around(file.size(), begin, end);
    os::prefetch(file, pages);
    end_ = pages.end;  // the next request begins with another page
}

}  // namespace onnxmap::source
