#include "kernels/moments.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/scalar.hpp"

namespace onnxmap::kernels {

namespace {

double sum_of_lanes(const std::array<double, kLanes>& lanes) noexcept {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

template <class Format>
using Codes = std::array<typename Format::Code, kLanes>;

template <class Format>
bool is_finite(typename Format::Code code) noexcept {
    return (code & Format::kMagnitude) < Format::kInfinity;
}

// Calls each(codes) for the elements, kLanes at a time. Returns how many NaN the last call has
// instead of elements.
template <class Format, class Each>
std::uint64_t for_each_lanes(const std::uint8_t* from, std::uint64_t count, Each&& each) {
    Codes<Format> codes;
    for (; count >= kLanes; count -= kLanes, from += sizeof codes) {
        std::memcpy(codes.data(), from, sizeof codes);
        each(codes);
    }
    if (count == 0) return 0;
    each(padded<Format>(from, count));
    return kLanes - count;
}

template <class Format>
void add(const Codes<Format>& codes, MomentLanes<typename Format::Value>& lanes) noexcept {
    using Value = Format::Value;
    for (std::size_t i = 0; i < kLanes; ++i) {
        const bool finite = is_finite<Format>(codes[i]);
        const Value value = Format::value(codes[i]);
        lanes.not_finite[i] += finite ? 0U : 1U;
        lanes.zeros[i] += (codes[i] & Format::kMagnitude) == 0 ? 1U : 0U;
        // A comparison with NaN is false.
        const Value kept = finite ? value : std::numeric_limits<Value>::quiet_NaN();
        lanes.least[i] = kept < lanes.least[i] ? kept : lanes.least[i];
        lanes.most[i] = kept > lanes.most[i] ? kept : lanes.most[i];
        const double summed = finite ? static_cast<double>(value) : 0.0;
        lanes.sums.sum[i] += summed;
        lanes.sums.sum_of_squares[i] += summed * summed;
    }
}

template <class Format>
std::uint64_t count_infinities(const std::uint8_t* from, std::uint64_t count) {
    std::uint64_t found = 0;
    for_each_lanes<Format>(from, count, [&](const Codes<Format>& codes) {
        for (const auto code : codes) {
            found += (code & Format::kMagnitude) == Format::kInfinity ? 1U : 0U;
        }
    });
    return found;
}

template <class Format>
Moments summarize(const std::uint8_t* from, std::uint64_t count) {
    using Value = Format::Value;
    MomentLanes<Value> lanes;
    lanes.least.fill(std::numeric_limits<Value>::infinity());
    lanes.most.fill(-std::numeric_limits<Value>::infinity());
    const std::uint64_t padding = for_each_lanes<Format>(
        from, count, [&](const Codes<Format>& codes) { add<Format>(codes, lanes); });
    Moments found = lanes.total(padding);
    if (found.not_finite > 0) found.infinities = count_infinities<Format>(from, count);
    return found;
}

template <class Format>
Sums sum_around(const std::uint8_t* from, std::uint64_t count, double scale, double shift) {
    SumLanes lanes;
    for_each_lanes<Format>(from, count, [&](const Codes<Format>& codes) {
        for (std::size_t i = 0; i < kLanes; ++i) {
            const double moved = static_cast<double>(Format::value(codes[i])) * scale - shift;
            const double summed = is_finite<Format>(codes[i]) ? moved : 0.0;
            lanes.sum[i] += summed;
            lanes.sum_of_squares[i] += summed * summed;
        }
    });
    return lanes.total();
}

template <class Format>
constexpr MomentLoops kLoops = {summarize<Format>, sum_around<Format>};

}  // namespace

Sums SumLanes::total() const noexcept { return {sum_of_lanes(sum), sum_of_lanes(sum_of_squares)}; }

template <class Value>
Moments MomentLanes<Value>::total(std::uint64_t padding) const noexcept {
    Moments found;
    for (const Counter lane : not_finite) found.not_finite += lane;
    for (const Counter lane : zeros) found.zeros += lane;
    found.not_finite -= padding;
    // Adding 0 makes 0 of -0: which of the two is found would depend on their order.
    found.least = static_cast<double>(*std::ranges::min_element(least)) + 0.0;
    found.most = static_cast<double>(*std::ranges::max_element(most)) + 0.0;
    const auto [sum, sum_of_squares] = sums.total();
    found.sum = sum;
    found.sum_of_squares = sum_of_squares;
    return found;
}

template struct MomentLanes<float>;
template struct MomentLanes<double>;

template <class Format>
std::array<typename Format::Code, kLanes> padded(const std::uint8_t* from,
                                                 std::uint64_t count) noexcept {
    Codes<Format> codes;
    codes.fill(Format::kNan);
    std::memcpy(codes.data(), from, count * sizeof(typename Format::Code));
    return codes;
}

template Codes<Float16> padded<Float16>(const std::uint8_t*, std::uint64_t) noexcept;
template Codes<Bfloat16> padded<Bfloat16>(const std::uint8_t*, std::uint64_t) noexcept;
template Codes<Float32> padded<Float32>(const std::uint8_t*, std::uint64_t) noexcept;
template Codes<Float64> padded<Float64>(const std::uint8_t*, std::uint64_t) noexcept;

namespace scalar {

const MomentLoops kFloat16 = kLoops<Float16>;
const MomentLoops kBfloat16 = kLoops<Bfloat16>;
const MomentLoops kFloat32 = kLoops<Float32>;
const MomentLoops kFloat64 = kLoops<Float64>;

}  // namespace scalar
}  // namespace onnxmap::kernels
