// NEON, which every 64-bit Arm processor has. The compiler uses it for the plain loops, too: here
// are those for which it does not, or makes more instructions. Unpacking bytes by ST2 and ST4, for
// example, is what it finds itself.
#include "kernels/kernel_set.hpp"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels/moment_loops.hpp"
#include "kernels/scalar.hpp"

namespace onnxmap::kernels {

namespace {

using Bytes = const std::uint8_t*;

inline uint16x8_t load_u16(Bytes p) { return vreinterpretq_u16_u8(vld1q_u8(p)); }
inline uint32x4_t load_u32(Bytes p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }
inline void store(std::uint8_t* p, uint8x16_t value) { vst1q_u8(p, value); }
inline void store(std::uint8_t* p, uint16x8_t value) { vst1q_u8(p, vreinterpretq_u8_u16(value)); }
inline void store(std::uint8_t* p, uint32x4_t value) { vst1q_u8(p, vreinterpretq_u8_u32(value)); }
inline void store(std::uint8_t* p, uint64x2_t value) { vst1q_u8(p, vreinterpretq_u8_u64(value)); }

// All bits of each float that is a number.
inline uint32x4_t is_number(uint32x4_t bits) {
    const float32x4_t value = vreinterpretq_f32_u32(bits);
    return vceqq_f32(value, value);
}

// The low and the high half of each lane of two registers.
inline uint16x8_t low_halves(uint32x4_t low, uint32x4_t high) {
    return vuzp1q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
}
inline uint16x8_t high_halves(uint32x4_t low, uint32x4_t high) {
    return vuzp2q_u16(vreinterpretq_u16_u32(low), vreinterpretq_u16_u32(high));
}
inline uint8x16_t low_halves(uint16x8_t low, uint16x8_t high) {
    return vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));
}
inline uint8x16_t high_halves(uint16x8_t low, uint16x8_t high) {
    return vuzp2q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));
}

void unpack6(Bytes from, std::uint64_t count, std::uint8_t* to) {
    const uint8x16_t mask = vdupq_n_u8(0x3f);
    for (; count >= 64; count -= 64, from += 48, to += 64) {
        const auto [x, y, z] = vld3q_u8(from).val;  // each has one byte of every three
        const uint8x16_t second = vsliq_n_u8(vshrq_n_u8(x, 6), y, 2);
        const uint8x16_t third = vsliq_n_u8(vshrq_n_u8(y, 4), z, 4);
        const uint8x16x4_t codes = {
            {vandq_u8(x, mask), vandq_u8(second, mask), vandq_u8(third, mask), vshrq_n_u8(z, 2)}};
        vst4q_u8(to, codes);
    }
    scalar::unpack6(from, count, to);
}

void float16_to_float32(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 8; count -= 8, from += 16, to += 32) {
        const uint16x8_t half = load_u16(from);
        const float16x8_t value = vreinterpretq_f16_u16(half);
        // The instruction makes every NaN quiet; NumPy keeps that bit as it is.
        const uint16x8_t magnitude = vbicq_u16(half, vdupq_n_u16(0x8000));
        const uint16x8_t is_signalling =
            vcltq_u16(vsubq_u16(magnitude, vdupq_n_u16(0x7c01)), vdupq_n_u16(0x01ff));
        const uint16x8_t unset = vandq_u16(is_signalling, vdupq_n_u16(0x0200));
        const uint32x4_t low = vreinterpretq_u32_f32(vcvt_f32_f16(vget_low_f16(value)));
        const uint32x4_t high = vreinterpretq_u32_f32(vcvt_high_f32_f16(value));
        store(to, vbicq_u32(low, vshll_n_u16(vget_low_u16(unset), 13)));
        store(to + 16, vbicq_u32(high, vshll_high_n_u16(unset, 13)));
    }
    scalar::float16_to_float32(from, count, to);
}

inline uint16x8_t rounded_to_float16(uint32x4_t low, uint32x4_t high) {
    const float16x4_t first = vcvt_f16_f32(vreinterpretq_f32_u32(low));
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(first, vreinterpretq_f32_u32(high)));
}

void float32_to_float16(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 16; count -= 16, from += 64, to += 32) {
        const uint32x4_t a = load_u32(from);
        const uint32x4_t b = load_u32(from + 16);
        const uint32x4_t c = load_u32(from + 32);
        const uint32x4_t d = load_u32(from + 48);
        const uint32x4_t are_numbers =
            vandq_u32(vandq_u32(is_number(a), is_number(b)), vandq_u32(is_number(c), is_number(d)));
        if (vminvq_u32(are_numbers) == 0) {
            scalar::float32_to_float16(from, 16, to);  // the instruction changes payloads of NaN
            continue;
        }
        store(to, rounded_to_float16(a, b));
        store(to + 16, rounded_to_float16(c, d));
    }
    scalar::float32_to_float16(from, count, to);
}

// BFCVTN of later processors would keep payloads of NaN.
inline uint16x4_t rounded_to_bfloat16(uint32x4_t bits) {
    // Adds half of the last kept place, less one if that place is even.
    const uint32x4_t half = vsraq_n_u32(vdupq_n_u32(0x7fff), vshlq_n_u32(bits, 15), 31);
    return vaddhn_u32(bits, half);
}

void float32_to_bfloat16(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 8; count -= 8, from += 32, to += 16) {
        const uint32x4_t low = load_u32(from);
        const uint32x4_t high = load_u32(from + 16);
        const uint16x8_t rounded =
            vcombine_u16(rounded_to_bfloat16(low), rounded_to_bfloat16(high));
        const uint16x8_t sign = vandq_u16(high_halves(low, high), vdupq_n_u16(0x8000));
        const uint16x8_t nan = vorrq_u16(sign, vdupq_n_u16(0x7fc0));
        store(to, vbslq_u16(low_halves(is_number(low), is_number(high)), rounded, nan));
    }
    scalar::float32_to_bfloat16(from, count, to);
}

// The steps of kernels::float32_to_float8(), but for sign and NaN.
template <Float8 kType>
inline uint32x4_t rounded_to_float8(uint32x4_t bits) {
    constexpr int kDropped = 23 - kType.mantissa_bits;
    constexpr std::uint32_t kLeastNormal = (128 - kType.bias) << 23;
    constexpr std::uint32_t kRebias = (127 - kType.bias) << 23;
    constexpr std::uint32_t kMost = kRebias + (kType.most << kDropped);
    constexpr std::uint32_t kHalf = (1U << (kDropped - 1)) - 1 - kRebias;
    const uint32x4_t place = vdupq_n_u32((128 - kType.bias + kDropped) << 23);
    const uint32x4_t magnitude = vbicq_u32(bits, vdupq_n_u32(0x8000'0000));
    const uint32x4_t finite = vminq_u32(magnitude, vdupq_n_u32(kMost));
    const uint32x4_t half = vsraq_n_u32(vdupq_n_u32(kHalf), vshlq_n_u32(finite, 31 - kDropped), 31);
    const uint32x4_t normal = vshrq_n_u32(vaddq_u32(finite, half), kDropped);
    const float32x4_t sum = vaddq_f32(vreinterpretq_f32_u32(finite), vreinterpretq_f32_u32(place));
    const uint32x4_t subnormal = vsubq_u32(vreinterpretq_u32_f32(sum), place);
    return vbslq_u32(vcltq_u32(finite, vdupq_n_u32(kLeastNormal)), subnormal, normal);
}

template <Float8 kType>
void float32_to_float8(Bytes from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 16; count -= 16, from += 64, to += 16) {
        const uint32x4_t a = load_u32(from);
        const uint32x4_t b = load_u32(from + 16);
        const uint32x4_t c = load_u32(from + 32);
        const uint32x4_t d = load_u32(from + 48);
        const uint8x16_t code =
            low_halves(low_halves(rounded_to_float8<kType>(a), rounded_to_float8<kType>(b)),
                       low_halves(rounded_to_float8<kType>(c), rounded_to_float8<kType>(d)));
        const uint8x16_t are_numbers = low_halves(low_halves(is_number(a), is_number(b)),
                                                  low_halves(is_number(c), is_number(d)));
        const uint8x16_t sign =
            vandq_u8(high_halves(high_halves(a, b), high_halves(c, d)), vdupq_n_u8(0x80));
        const uint8x16_t nan = vdupq_n_u8(kType.nan);
        if constexpr (kType.is_signed) {
            store(to, vorrq_u8(vbslq_u8(are_numbers, code, nan), sign));
        } else {
            const uint8x16_t sign_of_code = vandq_u8(sign, vtstq_u8(code, code));  // none of zero
            store(to, vbslq_u8(are_numbers, vorrq_u8(code, sign_of_code), nan));
        }
    }
    scalar::float32_to_float8<kType>(from, count, to);
}

// Stores the lanes with 64 bits each.
inline void store_widened(std::uint8_t* to, uint32x4_t x) {
    store(to, vmovl_u32(vget_low_u32(x)));
    store(to + 16, vmovl_high_u32(x));
}
inline void store_widened(std::uint8_t* to, uint16x8_t x) {
    store_widened(to, vmovl_u16(vget_low_u16(x)));
    store_widened(to + 32, vmovl_high_u16(x));
}

// There is no instruction that gathers bits, so longer varints are left to the plain loop.
std::uint64_t read_varints(Bytes& p, Bytes end, std::uint64_t count, std::uint8_t* to) {
    constexpr std::uint64_t kBlock = 16;
    constexpr std::uint64_t kAtOnce = 64;
    std::uint64_t i = 0;
    while (true) {
        for (; count - i >= kBlock && end - p >= std::ptrdiff_t{kBlock}; i += kBlock, p += kBlock) {
            const uint8x16_t x = vld1q_u8(p);
            if (vmaxvq_u8(x) >= 0x80) break;  // not a byte each
            store_widened(to + 8 * i, vmovl_u8(vget_low_u8(x)));
            store_widened(to + 8 * i + 64, vmovl_high_u8(x));
        }
        const std::uint64_t some = std::min(count - i, kAtOnce);
        const std::uint64_t read = scalar::read_varints(p, end, some, to + 8 * i);
        i += read;
        if (read < some || i == count) return i;
    }
}

Moments summarize(Bytes from, std::uint64_t count) {
    return summarize_here<Float16, float16_to_float32>(from, count);
}

Sums sum_around(Bytes from, std::uint64_t count, double scale, double shift) {
    return sum_around_here<Float16, float16_to_float32>(from, count, scale, shift);
}

constexpr MomentLoops kFloat16Loops = {summarize, sum_around};

}  // namespace

constexpr KernelSet kNeon = {
    .name = "neon",
    .supported = []() noexcept { return true; },
    .unpack2 = scalar::unpack2,
    .unpack4 = scalar::unpack4,
    .unpack6 = unpack6,
    .float16_to_float32 = float16_to_float32,
    .bfloat16_to_float32 = scalar::bfloat16_to_float32,
    .float32_to_float16 = float32_to_float16,
    .float32_to_bfloat16 = float32_to_bfloat16,
    .float32_to_e4m3fn = float32_to_float8<kE4m3fn>,
    .float32_to_e4m3fnuz = float32_to_float8<kE4m3fnuz>,
    .float32_to_e5m2 = float32_to_float8<kE5m2>,
    .float32_to_e5m2fnuz = float32_to_float8<kE5m2fnuz>,
    .count_between = scalar::count_between,
    .look_up = scalar::look_up,
    .read_varints = read_varints,
    .crc32 = scalar::crc32,
    .float16 = &kFloat16Loops,
    .bfloat16 = &scalar::kBfloat16Loops,
    .float32 = &scalar::kFloat32Loops,
    .float64 = &scalar::kFloat64Loops,
};

}  // namespace onnxmap::kernels

#endif
