#include "bulk/tensor_pages.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "model/tensor.hpp"
#include "source/page_cache.hpp"
#include "source/pages_ahead.hpp"

namespace onnxmap::bulk {

namespace {

// Bytes that are processed between two pauses. No folio is larger, so parts that begin and end at a
// multiple of this split none.
constexpr std::uint64_t kAtOnce = 32 << 20;

// Neighbouring ranges of a source as one range: less than a page lies between two of them.
struct Joined {
    std::shared_ptr<const source::Source> source;
    ByteRange span;
    std::vector<ByteRange> between;
};

using Source = std::shared_ptr<const source::Source>;

// Calls visit(i, source, offset, nbytes) for each range of the tensor at positions[i].
template <class Visit>
void for_each_range(const model::Initializers& initializers,
                    std::span<const std::uint32_t> positions, Visit&& visit) {
    const model::Document& document = initializers.document();
    const source::Timestamp since = document.check_for_changes();
    initializers.for_each_at(positions, [&](std::uint32_t i, const onnx::Message& message) {
        const model::Tensor tensor(document, message);
        tensor.naming([&] {
            tensor.values(since).for_each_range(
                [&](const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
                    visit(i, source, offset, nbytes);
                });
        });
    });
}

std::vector<Joined> joined_ranges(const model::Initializers& initializers,
                                  std::span<const std::uint32_t> positions) {
    std::vector<std::pair<Source, ByteRange>> ranges;
    for_each_range(
        initializers, positions,
        [&](std::uint32_t, const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
            ranges.emplace_back(source, ByteRange{offset, offset + nbytes});
        });
    std::ranges::sort(ranges, {}, [](const std::pair<Source, ByteRange>& range) {
        return std::make_tuple(range.first.get(), range.second.begin, range.second.end);
    });
    std::vector<Joined> joined;
    for (auto& [source, span] : ranges) {
        const bool near = !joined.empty() && joined.back().source == source &&
                          span.begin < joined.back().span.end + os::page_size();
        if (!near) {
            joined.push_back({std::move(source), span, {}});
            continue;
        }
        std::uint64_t& end = joined.back().span.end;
        if (span.begin > end) joined.back().between.push_back({end, span.begin});
        end = std::max(end, span.end);
    }
    return joined;
}

template <class Work>
void for_each_part(const std::vector<Joined>& ranges, const Pause& pause, Work&& work) {
    std::uint64_t done = 0;
    for (const Joined& range : ranges) {
        const std::uint64_t end = range.span.end;
        for (std::uint64_t at = range.span.begin; at < end;) {
            const std::uint64_t stop = std::min(end, at - at % kAtOnce + kAtOnce);
            work(*range.source, at, stop - at);
            done += stop - at;
            at = stop;
            if (done >= kAtOnce) {
                done = 0;
                pause();
            }
        }
    }
}

}  // namespace

void prefetch(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
              const Pause& pause) {
    for_each_part(joined_ranges(initializers, positions), pause, source::prefetch);
}

void evict(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
           const Pause& pause) {
    const std::vector<Joined> ranges = joined_ranges(initializers, positions);
    for_each_part(ranges, pause, source::evict);
    // Through a mapping, each absent header is read with the whole read-ahead around it. If headers
    // are close together, that is the fastest way to read them.
    for (const Joined& range : ranges) {
        if (range.between.size() * source::PagesAhead::kFar > range.span.nbytes()) continue;
        for (const ByteRange& header : range.between) {
            source::prefetch(*range.source, header.begin, header.nbytes());
        }
    }
}

ByteRanges absent_ranges(const model::Document& document) {
    static_cast<void>(document.check_for_changes());
    ByteRanges absent;
    source::for_each_absent(
        document.source(), 0, document.source().size(),
        [&](std::uint64_t begin, std::uint64_t end) { absent.add(begin, end); });
    return absent;
}

std::vector<ResidentBytes> residency(const model::Initializers& initializers,
                                     std::span<const std::uint32_t> positions,
                                     const ByteRanges& absent, const Pause& pause) {
    const source::Source& own = initializers.document().source();
    std::vector<ResidentBytes> found(positions.size());
    std::uint64_t looked_at = 0;
    const auto look = [&](std::uint32_t i, const Source& source, std::uint64_t offset,
                          std::uint64_t nbytes) {
        ResidentBytes& bytes = found[i];
        bytes.total += nbytes;
        if (source.get() == &own) {
            absent.for_each_missing(
                offset, offset + nbytes,
                [&](std::uint64_t begin, std::uint64_t end) { bytes.resident += end - begin; });
            return;
        }
        for (std::uint64_t at = 0; at < nbytes; at += kAtOnce) {
            const std::uint64_t here = std::min(kAtOnce, nbytes - at);
            bytes.resident += source::resident_bytes(*source, offset + at, here);
            looked_at += here;
        }
        if (looked_at >= kAtOnce) {
            looked_at = 0;
            pause();
        }
    };
    for_each_range(initializers, positions, look);
    return found;
}

}  // namespace onnxmap::bulk
