// Packed runs of varints, by the million: counted and decoded eight bytes at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/bytes.hpp"
#include "wire/reader.hpp"
#include "wire/varint.hpp"

namespace onnxmap::wire {

inline constexpr std::uint64_t kContinuationBits = 0x8080'8080'8080'8080;

/// How many varints a valid run holds: its bytes below 0x80.
[[nodiscard]] std::uint64_t count_varints(ByteView run) noexcept;

/// Where a run may be cut at `position` or a few bytes behind it: after the end of a varint.
[[nodiscard]] inline std::uint64_t varint_end(ByteView run, std::uint64_t position) noexcept {
    while (position < run.size() && position > 0 && run[position - 1] >= 0x80) ++position;
    return position < run.size() ? position : run.size();
}

/// The value of a varint of at most eight bytes: `word` holds them, the rest of it is zero.
[[nodiscard]] inline std::uint64_t gather_varint(std::uint64_t word) noexcept {
    word = (word & 0x007f'007f'007f'007f) | ((word & 0x7f00'7f00'7f00'7f00) >> 1);
    word = (word & 0x0000'3fff'0000'3fff) | ((word & 0x3fff'0000'3fff'0000) >> 2);
    return (word & 0x0fff'ffff) | ((word & 0x0fff'ffff'0000'0000) >> 4);
}

/// Reads varints one after the other. Where the next one begins is known only when the last one is
/// read, so a processor waits most of the time; it does not where several streams take turns.
struct VarintStream {
    const std::uint8_t* p;
    const std::uint8_t* end;
    std::uint64_t i;     // which value is next
    std::uint64_t last;  // behind the last value
    std::uint64_t too_long = 0;

    /// How many values can be read without a look at the end.
    [[nodiscard]] std::uint64_t unchecked() const noexcept {
        const auto whole = static_cast<std::uint64_t>(end - p) / kMaxVarintBytes;
        return whole < last - i ? whole : last - i;
    }

    /// The next value, of any length, without a branch.
    [[nodiscard]] std::uint64_t next() noexcept {
        const std::uint64_t word = load64(p);
        const std::uint64_t ninth = p[8];
        const std::uint64_t tenth = p[9];
        const std::uint64_t stops = ~word & kContinuationBits;
        const std::uint64_t more = stops == 0 ? 1 : 0;  // the ninth byte belongs to it
        const std::uint64_t ten = more & ninth >> 7;    // and the tenth
        const std::uint64_t low = gather_varint(word & (stops ^ (stops - 1)));
        const std::uint64_t high = (ninth & 0x7f) << 56 | (tenth & ten) << 63;
        too_long |= ten & tenth >> 7;
        p += static_cast<unsigned>(__builtin_ctzll(stops | 1ULL << 63)) / 8 + 1 + more + ten;
        ++i;
        return low | (high & (0 - more));
    }
};

/// Calls store(i, value) for the `count` values that the run has, in no order. Returns `count`, or
/// 0 where the run has not so many (any more). Throws Error `wire.truncated` or
/// `wire.varint_too_long`.
template <class Store>
std::uint64_t decode_varints(ByteView run, std::uint64_t count, Store&& store) {
    if (count == run.size()) {  // a byte each
        std::uint8_t seen = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            seen |= run[i];
            store(i, run[i]);
        }
        return seen < 0x80 ? count : 0;
    }
    std::array<VarintStream, 4> streams;
    std::uint64_t begin = 0;
    std::uint64_t first = 0;
    for (std::size_t k = 0; k < streams.size(); ++k) {
        const bool rest = k + 1 == streams.size();
        const std::uint64_t end =
            rest ? run.size() : varint_end(run, run.size() / streams.size() * (k + 1));
        const ByteView part = run.subspan(begin, end - begin);
        const std::uint64_t last = rest ? count : first + count_varints(part);
        if (last < first || last > count) return 0;
        streams[k] = {part.data(), part.data() + part.size(), first, last};
        begin = end;
        first = last;
    }
    const auto rounds = [&] {
        std::uint64_t least = streams[0].unchecked();
        for (const VarintStream& stream : streams) least = std::min(least, stream.unchecked());
        return least;
    };
    for (std::uint64_t n; (n = rounds()) > 0;) {
        std::array<VarintStream, 4> now = streams;
        for (; n > 0; --n) {
            for (VarintStream& stream : now) {
                const std::uint64_t i = stream.i;
                store(i, stream.next());
            }
        }
        streams = now;
    }
    std::uint64_t found = 0;
    for (VarintStream& stream : streams) {
        for (std::uint64_t n; (n = stream.unchecked()) > 0;) {
            for (; n > 0; --n) {
                const std::uint64_t i = stream.i;
                store(i, stream.next());
            }
        }
        if (stream.too_long != 0) PackedVarints::fail_too_long();
        PackedVarints rest(ByteView(stream.p, stream.end));
        for (std::uint64_t value; stream.i < stream.last && rest.next(value);) {
            store(stream.i++, value);
        }
        found += stream.i == stream.last;
    }
    return found == streams.size() ? count : 0;
}

}  // namespace onnxmap::wire
