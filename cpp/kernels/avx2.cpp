// AVX2, F16C, BMI and CLMUL. An attribute enables them for each function. A flag for the file would
// also compile inline functions of headers for them, and the linker could use these everywhere.
#include "kernels/kernel_set.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include "kernels/moment_loops.hpp"
#include "kernels/scalar.hpp"

#define ONNXMAP_AVX2 [[gnu::target("avx2,f16c,bmi,bmi2")]]
#define ONNXMAP_CLMUL [[gnu::target("avx2,pclmul")]]

namespace onnxmap::kernels {

namespace {

using Bytes = const std::uint8_t*;

ONNXMAP_AVX2 inline __m256i load32(Bytes p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
ONNXMAP_AVX2 inline __m128i load16(Bytes p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
ONNXMAP_AVX2 inline __m128i load8(Bytes p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
ONNXMAP_AVX2 inline void store32(std::uint8_t* p, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), value);
}
ONNXMAP_AVX2 inline void store16(std::uint8_t* p, __m128i value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), value);
}

ONNXMAP_AVX2 void unpack2(Bytes from, std::uint64_t count, std::uint8_t* to) {
    const __m256i mask = _mm256_set1_epi8(0x03);
    for (; count >= 32; count -= 32, from += 8, to += 32) {
        const __m256i x = _mm256_cvtepu8_epi32(load8(from));  // a byte in each 32-bit lane
        const __m256i high = _mm256_or_si256(_mm256_slli_epi32(x, 12), _mm256_slli_epi32(x, 18));
        const __m256i low = _mm256_or_si256(x, _mm256_slli_epi32(x, 6));
        store32(to, _mm256_and_si256(_mm256_or_si256(low, high), mask));
    }
    scalar::unpack2(from, count, to);
}

ONNXMAP_AVX2 void unpack4(Bytes from, std::uint64_t count, std::uint8_t* to) {
    const __m256i mask = _mm256_set1_epi8(0x0f);
    for (; count >= 32; count -= 32, from += 16, to += 32) {
        const __m256i x = _mm256_cvtepu8_epi16(load16(from));  // a byte in each 16-bit lane
        store32(to, _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi16(x, 4)), mask));
    }
    scalar::unpack4(from, count, to);
}

ONNXMAP_AVX2 void unpack6(Bytes from, std::uint64_t count, std::uint8_t* to) {
    // Three bytes into each 32-bit lane, from 12 bytes in each half of the register.
    const __m256i spread = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 0,
                                            1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    // Loads 28 bytes, of which 24 hold these 32 elements.
    for (; count >= 40; count -= 32, from += 24, to += 32) {
        const __m256i x =
            _mm256_shuffle_epi8(_mm256_set_m128i(load16(from + 12), load16(from)), spread);
        const __m256i a = _mm256_and_si256(x, _mm256_set1_epi32(0x3f));
        const __m256i b = _mm256_and_si256(_mm256_slli_epi32(x, 2), _mm256_set1_epi32(0x3f00));
        const __m256i c = _mm256_and_si256(_mm256_slli_epi32(x, 4), _mm256_set1_epi32(0x3f'0000));
        const __m256i d = _mm256_and_si256(_mm256_slli_epi32(x, 6), _mm256_set1_epi32(0x3f00'0000));
        store32(to, _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)));
    }
    scalar::unpack6(from, count, to);
}

ONNXMAP_AVX2 void float16_to_float32(Bytes from, std::uint64_t count, std::uint8_t* to) {
    const __m256i quiet = _mm256_set1_epi32(0x0040'0000);
    for (; count >= 8; count -= 8, from += 16, to += 32) {
        const __m128i half = load16(from);
        const __m256 value = _mm256_cvtph_ps(half);
        // The instruction makes every NaN quiet; NumPy keeps that bit as it is.
        const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        const __m256i was_quiet = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 13);
        const __m256i unset = _mm256_and_si256(nan, _mm256_andnot_si256(was_quiet, quiet));
        store32(to, _mm256_andnot_si256(unset, _mm256_castps_si256(value)));
    }
    scalar::float16_to_float32(from, count, to);
}

ONNXMAP_AVX2 void bfloat16_to_float32(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 8; count -= 8, from += 16, to += 32) {
        store32(to, _mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(from)), 16));
    }
    scalar::bfloat16_to_float32(from, count, to);
}

ONNXMAP_AVX2 void float32_to_float16(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 8; count -= 8, from += 32, to += 16) {
        const __m256 value = _mm256_castsi256_ps(load32(from));
        if (_mm256_movemask_ps(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)) != 0) {
            scalar::float32_to_float16(from, 8, to);  // the instruction changes payloads of NaN
            continue;
        }
        store16(to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    }
    scalar::float32_to_float16(from, count, to);
}

ONNXMAP_AVX2 inline __m256i rounded_to_bfloat16(__m256i bits) {
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256 value = _mm256_castsi256_ps(bits);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x8000));
    const __m256i nan = _mm256_or_si256(sign, _mm256_set1_epi32(0x7fc0));
    return _mm256_blendv_epi8(rounded, nan, is_nan);
}

ONNXMAP_AVX2 void float32_to_bfloat16(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 16; count -= 16, from += 64, to += 32) {
        const __m256i packed = _mm256_packus_epi32(rounded_to_bfloat16(load32(from)),
                                                   rounded_to_bfloat16(load32(from + 32)));
        store32(to, _mm256_permute4x64_epi64(packed, 0b11'01'10'00));  // packing works per half
    }
    scalar::float32_to_bfloat16(from, count, to);
}

// The steps of kernels::float32_to_float8(), which gcc does not vectorise.
template <Float8 kType>
ONNXMAP_AVX2 inline __m256i rounded_to_float8(__m256i bits) {
    constexpr int kDropped = 23 - kType.mantissa_bits;
    constexpr int kRebias = (127 - kType.bias) << 23;
    const __m256i place = _mm256_set1_epi32((128 - kType.bias + kDropped) << 23);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff'ffff));
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    const __m256i finite =
        _mm256_min_epi32(magnitude, _mm256_set1_epi32(kRebias + (kType.most << kDropped)));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(finite, kDropped), _mm256_set1_epi32(1));
    const __m256i half =
        _mm256_add_epi32(odd, _mm256_set1_epi32((1 << (kDropped - 1)) - 1 - kRebias));
    const __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(finite, half), kDropped);
    const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(finite), _mm256_castsi256_ps(place));
    const __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(sum), place);
    const __m256i is_subnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(kRebias + (1 << 23)), finite);
    const __m256i code = _mm256_blendv_epi8(normal, subnormal, is_subnormal);
    const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f80'0000));
    const __m256i number = _mm256_blendv_epi8(code, _mm256_set1_epi32(kType.nan), is_nan);
    if constexpr (kType.is_signed) return _mm256_or_si256(number, sign);
    const __m256i is_zero = _mm256_cmpeq_epi32(number, _mm256_setzero_si256());
    return _mm256_or_si256(number, _mm256_andnot_si256(is_zero, sign));
}

template <Float8 kType>
ONNXMAP_AVX2 void float32_to_float8(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 32; count -= 32, from += 128, to += 32) {
        const __m256i low = _mm256_packus_epi32(rounded_to_float8<kType>(load32(from)),
                                                rounded_to_float8<kType>(load32(from + 32)));
        const __m256i high = _mm256_packus_epi32(rounded_to_float8<kType>(load32(from + 64)),
                                                 rounded_to_float8<kType>(load32(from + 96)));
        // Packing works per half of a register.
        store32(to, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high),
                                                _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    }
    scalar::float32_to_float8<kType>(from, count, to);
}

ONNXMAP_AVX2 std::uint64_t count_between(Bytes from, std::uint64_t count, std::uint32_t least,
                                         std::uint32_t most) {
    return scalar::count_between_here(from, count, least, most);
}

// The ends of varints in 64 bytes: one bit for each byte that is below 0x80.
ONNXMAP_AVX2 inline std::uint64_t varint_stops(Bytes p) {
    const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(load32(p)));
    const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(load32(p + 32)));
    return ~(low | std::uint64_t{high} << 32);
}

ONNXMAP_AVX2 inline std::uint64_t load_word(Bytes p) {
    std::uint64_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

ONNXMAP_AVX2 std::uint64_t read_varints(Bytes& p, Bytes end, std::uint64_t count,
                                        std::uint8_t* to) {
    constexpr std::ptrdiff_t kBlock = 64;
    constexpr std::ptrdiff_t kBehind = 16;  // bytes 9 and 10 of the last varint are read
    Bytes at = p;
    std::uint64_t i = 0;
    while (count - i >= kBlock && end - at >= kBlock + kBehind) {
        std::uint64_t stops = varint_stops(at);
        if (stops == ~std::uint64_t{0}) {  // a byte each
            for (int k = 0; k < kBlock; k += 4) {
                std::int32_t four;
                __builtin_memcpy(&four, at + k, sizeof four);
                store32(to + 8 * (i + static_cast<std::uint64_t>(k)),
                        _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four)));
            }
            i += kBlock;
            at += kBlock;
            continue;
        }
        std::uint64_t begin = 0;
        std::uint64_t longest = 0;
        std::uint64_t read = i;
        for (; stops != 0; stops = _blsr_u64(stops)) {
            const std::uint64_t behind = _tzcnt_u64(stops) + 1;
            const std::uint64_t nbytes = behind - begin;
            const std::uint64_t rest = nbytes > 8 ? nbytes - 8 : 0;
            const std::uint64_t low =
                _pext_u64(_bzhi_u64(load_word(at + begin), static_cast<unsigned>(8 * nbytes)),
                          0x7f7f'7f7f'7f7f'7f7f);
            // Takes seven bits of the ninth byte and one of the tenth: a varint has at most 64
            // bits.
            const std::uint64_t high = _pext_u64(
                _bzhi_u64(load_word(at + begin + 8), static_cast<unsigned>(8 * rest)), 0x017f);
            const std::uint64_t value = low | high << 56;
            __builtin_memcpy(to + 8 * read++, &value, sizeof value);
            longest = longest > nbytes ? longest : nbytes;
            begin = behind;
        }
        if (longest > 10 || begin == 0) break;  // left to the code that reports the fault
        i = read;
        at += begin;
    }
    p = at;
    return i + scalar::read_varints(p, end, count - i, to + 8 * i);
}

template <class Format, Kernel kConvert>
ONNXMAP_AVX2 Moments summarize(Bytes from, std::uint64_t count) {
    return summarize_here<Format, kConvert>(from, count);
}

template <class Format, Kernel kConvert>
ONNXMAP_AVX2 Sums sum_around(Bytes from, std::uint64_t count, double scale, double shift) {
    return sum_around_here<Format, kConvert>(from, count, scale, shift);
}

template <class Format, Kernel kConvert = nullptr>
constexpr MomentLoops kLoops = {summarize<Format, kConvert>, sum_around<Format, kConvert>};

// The remainder of `sum`, moved on by as many bytes as `by` says, and of the bytes there.
ONNXMAP_CLMUL inline __m128i folded(__m128i sum, __m128i by, __m128i there) {
    const __m128i moved =
        _mm_xor_si128(_mm_clmulepi64_si128(sum, by, 0x00), _mm_clmulepi64_si128(sum, by, 0x11));
    return _mm_xor_si128(moved, there);
}

// Sixteen bytes with the same remainder take the place of all. Source: Gopal and others, "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009; the numbers are
// its k1 to k4, powers of x modulo the polynomial with the bits reversed.
ONNXMAP_CLMUL std::uint32_t crc32(Bytes from, std::uint64_t count, std::uint32_t before) noexcept {
    if (count < 64) return scalar::crc32(from, count, before);
    const __m128i by64 = _mm_set_epi64x(0x1'c6e4'1596, 0x1'5444'2bd4);
    const __m128i by16 = _mm_set_epi64x(0x0'ccaa'009e, 0x1'7519'97d0);
    __m128i sums[4];
    for (std::size_t i = 0; i < 4; ++i) sums[i] = load16(from + 16 * i);
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(~before)));
    for (from += 64, count -= 64; count >= 64; from += 64, count -= 64) {
        for (std::size_t i = 0; i < 4; ++i) sums[i] = folded(sums[i], by64, load16(from + 16 * i));
    }
    __m128i sum = sums[0];
    for (std::size_t i = 1; i < 4; ++i) sum = folded(sum, by16, sums[i]);
    for (; count >= 16; from += 16, count -= 16) sum = folded(sum, by16, load16(from));
    std::uint8_t left[16];
    store16(left, sum);
    return scalar::crc32(from, count, scalar::crc32(left, sizeof left, UINT32_MAX));
}

// Not by __builtin_cpu_supports(): it finds nothing with the runtime library that zig links.
bool supported() noexcept {
    constexpr std::uint32_t kNeededOf1 = bit_OSXSAVE | bit_F16C | bit_PCLMUL;
    constexpr std::uint32_t kNeededOf7 = bit_AVX2 | bit_BMI | bit_BMI2;
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kNeededOf1) != kNeededOf1) {
        return false;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & kNeededOf7) != kNeededOf7) {
        return false;
    }
    // The system saves the registers: the halves that SSE has, and the others.
    constexpr std::uint32_t kSaved = 0b110;
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & kSaved) == kSaved;
}

}  // namespace

constexpr KernelSet kAvx2 = {
    .name = "avx2",
    .supported = supported,
    .unpack2 = unpack2,
    .unpack4 = unpack4,
    .unpack6 = unpack6,
    .float16_to_float32 = float16_to_float32,
    .bfloat16_to_float32 = bfloat16_to_float32,
    .float32_to_float16 = float32_to_float16,
    .float32_to_bfloat16 = float32_to_bfloat16,
    .float32_to_e4m3fn = float32_to_float8<kE4m3fn>,
    .float32_to_e4m3fnuz = float32_to_float8<kE4m3fnuz>,
    .float32_to_e5m2 = float32_to_float8<kE5m2>,
    .float32_to_e5m2fnuz = float32_to_float8<kE5m2fnuz>,
    .count_between = count_between,
    .look_up = scalar::look_up,  // gathers are no faster than loads
    .read_varints = read_varints,
    .crc32 = crc32,
    .float16 = &kLoops<Float16, float16_to_float32>,
    .bfloat16 = &kLoops<Bfloat16, bfloat16_to_float32>,
    .float32 = &kLoops<Float32>,
    .float64 = &kLoops<Float64>,
};

}  // namespace onnxmap::kernels

#endif
