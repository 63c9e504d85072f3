#include "compare/stored_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "os/parallel.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::compare {

using tensor::Payload;

namespace {

// Bytes that one thread compares at a time.
constexpr std::uint64_t kPart = 1 << 20;
// The same for sources that split a read into many.
constexpr std::uint64_t kSplitPart = 64 << 20;
// Bytes that are read at a time from a file that is not mapped: two such buffers stay in the cache.
constexpr std::uint64_t kBuffer = 128 << 10;

std::uint64_t part_of(const Payload& a, const Payload& b) {
    return a.source->splits_reads() || b.source->splits_reads() ? kSplitPart : kPart;
}

class ComparedRange {
  public:
    ComparedRange(const Payload& payload, std::uint64_t at_once) : payload_(payload) {
        if (!payload.is_view()) copy_ = std::make_unique_for_overwrite<std::uint8_t[]>(at_once);
    }

    const std::uint8_t* at(std::uint64_t begin, std::uint64_t count) {
        if (payload_.is_view()) return payload_.bytes().data() + begin;
        payload_.source->read(payload_.offset + begin, {copy_.get(), count});
        return copy_.get();
    }

    void release(std::uint64_t begin, std::uint64_t count) const noexcept {
        const source::Source& source = *payload_.source;
        if (source.maps_file()) source::release(source, payload_.offset + begin, count);
    }

  private:
    const Payload& payload_;
    std::unique_ptr<std::uint8_t[]> copy_;
};

bool equal_part(const Payload& a, const Payload& b, std::uint64_t begin, std::uint64_t end) {
    const bool splits = a.source->splits_reads() || b.source->splits_reads();
    const bool views = a.is_view() && b.is_view();
    const std::uint64_t at_once = std::min(end - begin, views || splits ? end - begin : kBuffer);
    ComparedRange in_a(a, at_once);
    ComparedRange in_b(b, at_once);
    bool equal = true;
    source::guard_reads(*a.source, [&] {
        source::guard_reads(*b.source, [&] {
            for (std::uint64_t at = begin; at < end && equal; at += at_once) {
                const std::uint64_t count = std::min(at_once, end - at);
                equal = std::memcmp(in_a.at(at, count), in_b.at(at, count), count) == 0;
            }
        });
    });
    in_a.release(begin, end - begin);
    in_b.release(begin, end - begin);
    return equal;
}

}  // namespace

bool is_same_place(const Payload& a, const Payload& b) {
    if (a.nbytes != b.nbytes || a.offset != b.offset) return false;
    if (a.source == b.source) return true;
    const auto file = a.source->identity();
    if (file && file == b.source->identity()) return true;
    const std::string remote = a.source->remote_state();
    return !remote.empty() && remote == b.source->remote_state();
}

bool equal_bytes(const Payload& a, const Payload& b) {
    if (a.nbytes != b.nbytes) return false;
    if (is_same_place(a, b)) return true;
    const std::uint64_t part = part_of(a, b);
    for (std::uint64_t begin = 0; begin < a.nbytes; begin += part) {
        if (!equal_part(a, b, begin, std::min(a.nbytes, begin + part))) return false;
    }
    return true;
}

void compare_bytes(std::span<BytePair> pairs, std::atomic<std::uint64_t>& done) {
    struct Part {
        std::size_t pair;
        std::uint64_t begin;
    };
    std::vector<Part> parts;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::uint64_t step = part_of(pairs[i].a, pairs[i].b);
        for (std::uint64_t begin = 0; begin < pairs[i].a.nbytes; begin += step) {
            parts.push_back({i, begin});
        }
    }
    std::vector<std::atomic<bool>> differs(pairs.size());
    os::for_each_range(parts.size(), 1, [&](std::uint64_t at, std::uint64_t) {
        const Part& part = parts[at];
        const BytePair& pair = pairs[part.pair];
        if (differs[part.pair].load(std::memory_order_relaxed)) return;
        const std::uint64_t end = std::min(pair.a.nbytes, part.begin + part_of(pair.a, pair.b));
        if (equal_part(pair.a, pair.b, part.begin, end)) {
            done.fetch_add(end - part.begin, std::memory_order_relaxed);
        } else {
            differs[part.pair].store(true, std::memory_order_relaxed);
        }
    });
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].equal = !differs[i];
}

}  // namespace onnxmap::compare
