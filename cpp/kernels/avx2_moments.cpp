// The sums of kernels/moments.hpp with AVX2. FMA stays off: a fused operation would round once
// where the plain set rounds twice.
#include "kernels/moments.hpp"

#include "kernels/avx2.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#define ONNXMAP_AVX2_SUMS [[gnu::target("avx2,f16c")]]

namespace onnxmap::kernels::avx2 {

namespace {

// The sums of eight lanes, in two registers each.
struct SumRegisters {
    __m256d low;
    __m256d high;
    __m256d low_squares;
    __m256d high_squares;
};

ONNXMAP_AVX2_SUMS inline SumRegisters no_sums() {
    const __m256d zero = _mm256_setzero_pd();
    return {zero, zero, zero, zero};
}

ONNXMAP_AVX2_SUMS inline void add(__m256d low, __m256d high, SumRegisters& to) {
    to.low = _mm256_add_pd(to.low, low);
    to.high = _mm256_add_pd(to.high, high);
    to.low_squares = _mm256_add_pd(to.low_squares, _mm256_mul_pd(low, low));
    to.high_squares = _mm256_add_pd(to.high_squares, _mm256_mul_pd(high, high));
}

ONNXMAP_AVX2_SUMS inline SumLanes lanes_of(const SumRegisters& sums) {
    SumLanes lanes;
    _mm256_storeu_pd(lanes.sum.data(), sums.low);
    _mm256_storeu_pd(lanes.sum.data() + 4, sums.high);
    _mm256_storeu_pd(lanes.sum_of_squares.data(), sums.low_squares);
    _mm256_storeu_pd(lanes.sum_of_squares.data() + 4, sums.high_squares);
    return lanes;
}

template <class Integer>
ONNXMAP_AVX2_SUMS inline void store(__m256i value, Integer* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}

ONNXMAP_AVX2_SUMS inline __m256d low_half(__m256 values) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(values));
}
ONNXMAP_AVX2_SUMS inline __m256d high_half(__m256 values) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1));
}

ONNXMAP_AVX2_SUMS inline __m256d moved(__m256d values, __m256d scale, __m256d shift) {
    return _mm256_sub_pd(_mm256_mul_pd(values, scale), shift);
}

// Eight elements in one register.
struct Floats {
    struct Found {
        SumRegisters sums;
        __m256 least;
        __m256 most;
        __m256i not_finite;
        __m256i zeros;
    };

    ONNXMAP_AVX2_SUMS static Found nothing() {
        const __m256 infinity = _mm256_set1_ps(std::numeric_limits<float>::infinity());
        return {no_sums(), infinity, _mm256_sub_ps(_mm256_setzero_ps(), infinity),
                _mm256_setzero_si256(), _mm256_setzero_si256()};
    }

    ONNXMAP_AVX2_SUMS static __m256i magnitude(__m256 values) {
        return _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7fff'ffff));
    }

    // All bits are set where an element is NaN or infinite.
    ONNXMAP_AVX2_SUMS static __m256i not_finite(__m256i magnitude) {
        return _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7f'ffff));
    }

    // Adds the number of infinities to the 64-bit lanes of `to`.
    ONNXMAP_AVX2_SUMS static __m256i add_infinities(__m256 values, __m256i to) {
        const __m256i odd = _mm256_cmpeq_epi32(magnitude(values), _mm256_set1_epi32(0x7f80'0000));
        return _mm256_add_epi64(
            to, _mm256_sad_epu8(_mm256_srli_epi32(odd, 31), _mm256_setzero_si256()));
    }

    ONNXMAP_AVX2_SUMS static void add(__m256 values, Found& to) {
        const __m256i size = magnitude(values);
        const __m256i odd = not_finite(size);
        to.not_finite = _mm256_sub_epi32(to.not_finite, odd);
        to.zeros = _mm256_sub_epi32(to.zeros, _mm256_cmpeq_epi32(size, _mm256_setzero_si256()));
        // If the first operand is NaN, both instructions return the second.
        const __m256 kept = _mm256_or_ps(values, _mm256_castsi256_ps(odd));
        to.least = _mm256_min_ps(kept, to.least);
        to.most = _mm256_max_ps(kept, to.most);
        const __m256 summed = _mm256_andnot_ps(_mm256_castsi256_ps(odd), values);
        avx2::add(low_half(summed), high_half(summed), to.sums);
    }

    ONNXMAP_AVX2_SUMS static void add_around(__m256 values, __m256d scale, __m256d shift,
                                             SumRegisters& to) {
        const __m256i odd = not_finite(magnitude(values));
        const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(odd));
        const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(odd, 1));
        avx2::add(
            _mm256_andnot_pd(_mm256_castsi256_pd(low), moved(low_half(values), scale, shift)),
            _mm256_andnot_pd(_mm256_castsi256_pd(high), moved(high_half(values), scale, shift)),
            to);
    }

    ONNXMAP_AVX2_SUMS static MomentLanes<float> lanes(const Found& found) {
        MomentLanes<float> lanes;
        lanes.sums = lanes_of(found.sums);
        _mm256_storeu_ps(lanes.least.data(), found.least);
        _mm256_storeu_ps(lanes.most.data(), found.most);
        store(found.not_finite, lanes.not_finite.data());
        store(found.zeros, lanes.zeros.data());
        return lanes;
    }
};

struct TwoDoubles {
    __m256d low;
    __m256d high;
};

// Eight elements in two registers.
struct Doubles {
    struct Half {
        __m256d least;
        __m256d most;
        __m256i not_finite;
        __m256i zeros;
    };
    struct Found {
        SumRegisters sums;
        Half low;
        Half high;
    };

    ONNXMAP_AVX2_SUMS static Found nothing() {
        const __m256d infinity = _mm256_set1_pd(std::numeric_limits<double>::infinity());
        const Half half = {infinity, _mm256_sub_pd(_mm256_setzero_pd(), infinity),
                           _mm256_setzero_si256(), _mm256_setzero_si256()};
        return {no_sums(), half, half};
    }

    ONNXMAP_AVX2_SUMS static __m256i magnitude(__m256d values) {
        return _mm256_and_si256(_mm256_castpd_si256(values),
                                _mm256_set1_epi64x(0x7fff'ffff'ffff'ffff));
    }

    ONNXMAP_AVX2_SUMS static __m256d not_finite(__m256d values) {
        return _mm256_castsi256_pd(
            _mm256_cmpgt_epi64(magnitude(values), _mm256_set1_epi64x(0x7fef'ffff'ffff'ffff)));
    }

    ONNXMAP_AVX2_SUMS static __m256i add_infinities(TwoDoubles values, __m256i to) {
        const __m256i infinity = _mm256_set1_epi64x(0x7ff0'0000'0000'0000);
        const __m256i low = _mm256_cmpeq_epi64(magnitude(values.low), infinity);
        const __m256i high = _mm256_cmpeq_epi64(magnitude(values.high), infinity);
        return _mm256_sub_epi64(_mm256_sub_epi64(to, low), high);
    }

    // Returns the values, and 0 for those that are not finite.
    ONNXMAP_AVX2_SUMS static __m256d look_at(__m256d values, Half& to) {
        const __m256d odd = not_finite(values);
        to.not_finite = _mm256_sub_epi64(to.not_finite, _mm256_castpd_si256(odd));
        const __m256d is_zero = _mm256_cmp_pd(values, _mm256_setzero_pd(), _CMP_EQ_OQ);
        to.zeros = _mm256_sub_epi64(to.zeros, _mm256_castpd_si256(is_zero));
        const __m256d kept = _mm256_or_pd(values, odd);
        to.least = _mm256_min_pd(kept, to.least);
        to.most = _mm256_max_pd(kept, to.most);
        return _mm256_andnot_pd(odd, values);
    }

    ONNXMAP_AVX2_SUMS static void add(TwoDoubles values, Found& to) {
        avx2::add(look_at(values.low, to.low), look_at(values.high, to.high), to.sums);
    }

    ONNXMAP_AVX2_SUMS static void add_around(TwoDoubles values, __m256d scale, __m256d shift,
                                             SumRegisters& to) {
        avx2::add(_mm256_andnot_pd(not_finite(values.low), moved(values.low, scale, shift)),
                  _mm256_andnot_pd(not_finite(values.high), moved(values.high, scale, shift)), to);
    }

    ONNXMAP_AVX2_SUMS static MomentLanes<double> lanes(const Found& found) {
        MomentLanes<double> lanes;
        lanes.sums = lanes_of(found.sums);
        const Half* const halves[] = {&found.low, &found.high};
        for (std::size_t i = 0; i < 2; ++i) {
            _mm256_storeu_pd(lanes.least.data() + 4 * i, halves[i]->least);
            _mm256_storeu_pd(lanes.most.data() + 4 * i, halves[i]->most);
            store(halves[i]->not_finite, lanes.not_finite.data() + 4 * i);
            store(halves[i]->zeros, lanes.zeros.data() + 4 * i);
        }
        return lanes;
    }
};

// How eight elements of each type are loaded.
ONNXMAP_AVX2_SUMS inline __m128i load16(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

struct LoadFloat16 : Floats {
    using Format = Float16;
    ONNXMAP_AVX2_SUMS static __m256 load(const void* from) { return _mm256_cvtph_ps(load16(from)); }
};
struct LoadBfloat16 : Floats {
    using Format = Bfloat16;
    ONNXMAP_AVX2_SUMS static __m256 load(const void* from) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(from)), 16));
    }
};
struct LoadFloat32 : Floats {
    using Format = Float32;
    ONNXMAP_AVX2_SUMS static __m256 load(const void* from) {
        return _mm256_castsi256_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    }
};
struct LoadFloat64 : Doubles {
    using Format = Float64;
    ONNXMAP_AVX2_SUMS static TwoDoubles load(const void* from) {
        const auto* registers = static_cast<const __m256i*>(from);
        return {_mm256_castsi256_pd(_mm256_loadu_si256(registers)),
                _mm256_castsi256_pd(_mm256_loadu_si256(registers + 1))};
    }
};

template <class Load>
ONNXMAP_AVX2_SUMS std::uint64_t count_infinities(const std::uint8_t* from, std::uint64_t count) {
    using Format = Load::Format;
    __m256i found = _mm256_setzero_si256();
    for (; count >= kLanes; count -= kLanes, from += kLanes * sizeof(typename Format::Code)) {
        found = Load::add_infinities(Load::load(from), found);
    }
    if (count > 0) {
        found = Load::add_infinities(Load::load(padded<Format>(from, count).data()), found);
    }
    std::array<std::uint64_t, 4> lanes;
    store(found, lanes.data());
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

template <class Load>
ONNXMAP_AVX2_SUMS Moments summarize(const std::uint8_t* from, std::uint64_t count) {
    using Format = Load::Format;
    typename Load::Found found = Load::nothing();
    const std::uint8_t* at = from;
    std::uint64_t left = count;
    for (; left >= kLanes; left -= kLanes, at += kLanes * sizeof(typename Format::Code)) {
        Load::add(Load::load(at), found);
    }
    if (left > 0) Load::add(Load::load(padded<Format>(at, left).data()), found);
    Moments moments = Load::lanes(found).total(left > 0 ? kLanes - left : 0);
    if (moments.not_finite > 0) moments.infinities = count_infinities<Load>(from, count);
    return moments;
}

template <class Load>
ONNXMAP_AVX2_SUMS Sums sum_around(const std::uint8_t* from, std::uint64_t count, double scale,
                                  double shift) {
    using Format = Load::Format;
    SumRegisters sums = no_sums();
    const __m256d by = _mm256_set1_pd(scale);
    const __m256d less = _mm256_set1_pd(shift);
    for (; count >= kLanes; count -= kLanes, from += kLanes * sizeof(typename Format::Code)) {
        Load::add_around(Load::load(from), by, less, sums);
    }
    if (count > 0) {
        Load::add_around(Load::load(padded<Format>(from, count).data()), by, less, sums);
    }
    return lanes_of(sums).total();
}

// What 16-bit elements are compared by: sixteen codes at a time.
struct HalfCodes {
    __m256i least;  // codes that are ordered as signed integers
    __m256i most;
    __m256i zeros;
};

// Turns codes into integers whose order is that of the numbers, and back.
ONNXMAP_AVX2_SUMS inline __m256i ordered(__m256i codes) {
    return _mm256_xor_si256(codes, _mm256_srli_epi16(_mm256_srai_epi16(codes, 15), 1));
}

// Adds the codes to what was found. If an element is not finite, adds nothing and returns false.
template <class Load>
ONNXMAP_AVX2_SUMS inline bool add_codes(__m256i codes, HalfCodes& to) {
    const __m256i size = _mm256_and_si256(codes, _mm256_set1_epi16(0x7fff));
    const __m256i odd = _mm256_cmpgt_epi16(size, _mm256_set1_epi16(Load::Format::kInfinity - 1));
    if (_mm256_testz_si256(odd, odd) == 0) return false;
    const __m256i order = ordered(codes);
    to.least = _mm256_min_epi16(to.least, order);
    to.most = _mm256_max_epi16(to.most, order);
    to.zeros = _mm256_sub_epi16(to.zeros, _mm256_cmpeq_epi16(size, _mm256_setzero_si256()));
    return true;
}

// The most elements for add_halves(): a lane counts its zeros in 16 bits.
constexpr std::uint64_t kMostHalves = 16ULL * 0xffff;

// Adds a multiple of sixteen elements.
template <class Load>
ONNXMAP_AVX2_SUMS void add_halves(const std::uint8_t* from, std::uint64_t count,
                                  typename Load::Found& to) {
    const __m256i infinity = _mm256_set1_epi16(Load::Format::kInfinity);
    HalfCodes codes = {infinity, ordered(_mm256_or_si256(infinity, _mm256_set1_epi16(-0x8000))),
                       _mm256_setzero_si256()};
    for (; count > 0; count -= 16, from += 32) {
        const __m256 low = Load::load(from);
        const __m256 high = Load::load(from + 16);
        if (add_codes<Load>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), codes)) {
            avx2::add(low_half(low), high_half(low), to.sums);
            avx2::add(low_half(high), high_half(high), to.sums);
        } else {
            Load::add(low, to);
            Load::add(high, to);
        }
    }
    std::array<std::uint16_t, 16> lanes;
    store(codes.zeros, lanes.data());
    std::array<std::uint32_t, kLanes> zeros{};
    for (std::size_t i = 0; i < lanes.size(); ++i) zeros[i % kLanes] += lanes[i];
    to.zeros = _mm256_add_epi32(to.zeros,
                                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(zeros.data())));
    store(ordered(codes.least), lanes.data());
    for (std::size_t i = 0; i < lanes.size(); i += kLanes) {
        to.least = _mm256_min_ps(Load::load(lanes.data() + i), to.least);
    }
    store(ordered(codes.most), lanes.data());
    for (std::size_t i = 0; i < lanes.size(); i += kLanes) {
        to.most = _mm256_max_ps(Load::load(lanes.data() + i), to.most);
    }
}

template <class Load>
ONNXMAP_AVX2_SUMS Moments summarize_halves(const std::uint8_t* from, std::uint64_t count) {
    using Format = Load::Format;
    typename Load::Found found = Load::nothing();
    const std::uint8_t* at = from;
    std::uint64_t left = count;
    while (left >= 16) {
        const std::uint64_t here = left < kMostHalves ? left / 16 * 16 : kMostHalves;
        add_halves<Load>(at, here, found);
        at += 2 * here;
        left -= here;
    }
    for (; left >= kLanes; left -= kLanes, at += 2 * kLanes) Load::add(Load::load(at), found);
    if (left > 0) Load::add(Load::load(padded<Format>(at, left).data()), found);
    Moments moments = Load::lanes(found).total(left > 0 ? kLanes - left : 0);
    if (moments.not_finite > 0) moments.infinities = count_infinities<Load>(from, count);
    return moments;
}

template <class Load>
constexpr MomentLoops kLoops = {summarize<Load>, sum_around<Load>};
template <class Load>
constexpr MomentLoops kHalfLoops = {summarize_halves<Load>, sum_around<Load>};

}  // namespace

const MomentLoops kFloat16 = kHalfLoops<LoadFloat16>;
const MomentLoops kBfloat16 = kHalfLoops<LoadBfloat16>;
const MomentLoops kFloat32 = kLoops<LoadFloat32>;
const MomentLoops kFloat64 = kLoops<LoadFloat64>;

}  // namespace onnxmap::kernels::avx2

#endif
