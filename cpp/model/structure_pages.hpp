// Releases the pages of a model's file that a walk over its structure maps. If the page cache holds
// the file in large folios, one access maps up to 2 MiB: reading the headers of 130 tensors makes
// some 200 MB resident.
#pragma once

#include <algorithm>
#include <cstdint>

#include "source/page_cache.hpp"

namespace onnxmap::model {

class StructurePages {
  public:
    /// If `release_pages`, releases pages as the walk goes on. The source must outlive this object.
    StructurePages(const source::Source& source, bool release_pages)
        : source_(source), releases_pages_(release_pages) {}
    ~StructurePages() { release(); }
    StructurePages(const StructurePages&) = delete;
    StructurePages& operator=(const StructurePages&) = delete;

    /// Notes that the walk has read some or all of these bytes of the source.
    void note_read(ByteView bytes) noexcept {
        if (!releases_pages_) return;
        const std::uint64_t offset = source_.offset_of(bytes);
        if (offset > source_.size()) return;  // an edit added them
        const std::uint64_t distance = offset < last_ ? last_ - offset : offset - last_;
        mapped_ += std::min(distance, os::kMappedAround);
        last_ = offset;
        first_ = std::min(first_, offset);
        end_ = std::max(end_, offset);
        if (mapped_ >= kMost) release();
    }

  private:
    static constexpr std::uint64_t kMost = 8 << 20;

    void release() noexcept {
        if (first_ > end_) return;
        const std::uint64_t begin = first_ - std::min(first_, os::kMappedAround);
        source::release(source_, begin, std::min(end_ + os::kMappedAround, source_.size()) - begin);
        mapped_ = 0;
        first_ = last_;  // the walk may still read there
    }

    const source::Source& source_;
    bool releases_pages_;
    std::uint64_t mapped_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t first_ = UINT64_MAX;
    std::uint64_t end_ = 0;
};

}  // namespace onnxmap::model
