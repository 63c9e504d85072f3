// A cursor over the fields of one message in memory. It knows no schema and copies nothing. It
// always checks every read against its span: the load pass validated the bytes, but a mapped file
// or a caller's buffer can change later.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"
#include "wire/tag.hpp"
#include "wire/varint.hpp"

namespace onnxmap::wire {

struct Field {
    std::uint32_t number = 0;
    WireType type = WireType::varint;
    std::uint64_t value = 0;              // of a varint, fixed32 or fixed64
    ByteView bytes;                       // what a length or a group encloses
    const std::uint8_t* begin = nullptr;  // of the tag
    const std::uint8_t* end = nullptr;    // after the last byte of the field

    /// The low 32 bits, which int32 and enum fields read from any varint.
    [[nodiscard]] std::int32_t int32() const noexcept {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    }
    [[nodiscard]] std::int64_t int64() const noexcept { return static_cast<std::int64_t>(value); }
    [[nodiscard]] float float32() const noexcept {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(value));
    }
    [[nodiscard]] double float64() const noexcept { return __builtin_bit_cast(double, value); }
    [[nodiscard]] std::string_view text() const noexcept { return as_text(bytes); }
};

class Reader {
  public:
    explicit Reader(ByteView message) noexcept
        : begin_(message.data()), p_(begin_), end_(begin_ + message.size()) {}

    /// Starts in the middle of a message, at the tag that `p` points to.
    Reader(const std::uint8_t* p, const std::uint8_t* end) noexcept : begin_(p), p_(p), end_(end) {}

    /// Reads the next field, or returns false at the end. Throws Error `wire.*` on malformed bytes,
    /// with the offset counted from where this reader began; the position is then unchanged.
    [[gnu::always_inline]] bool next(Field& field) {
        if (end_ - p_ >= 2 && next_short(field)) return true;
        return next_any(field);
    }

    /// Reads on to the end, and returns whether there was a field of this number and wire type. If
    /// so, `field` is the last one. Throws what next() throws.
    bool last(std::uint32_t number, WireType type, Field& field);

  private:
    // The fast path for nearly every field: a tag of one byte, then a varint or length of one byte.
    [[gnu::always_inline]] bool next_short(Field& field) noexcept {
        const std::uint8_t tag = p_[0];
        const std::uint8_t value = p_[1];
        if (tag < 8 || ((tag | value) & 0x80) != 0) return false;
        const std::uint8_t* content = p_ + 2;
        field.type = static_cast<WireType>(tag & 7);
        if (field.type == WireType::length_delimited) {
            if (end_ - content < value) return false;
            field.bytes = {content, value};
            content += value;
        } else if (field.type == WireType::varint) {
            field.value = value;
        } else {
            return false;
        }
        field.number = tag >> 3;
        field.begin = p_;
        field.end = p_ = content;
        return true;
    }

    bool next_any(Field& field);
    [[noreturn]] void fail(const char* code, const char* message) const;
    const std::uint8_t* skip_group(const std::uint8_t* p, Field& group) const;
    const std::uint8_t* read_value(const std::uint8_t* p, Field& field) const;
    [[nodiscard]] std::uint64_t tag_at(const std::uint8_t*& p) const;

    const std::uint8_t* begin_;
    const std::uint8_t* p_;
    const std::uint8_t* end_;
};

/// The values of a packed run of varints, one after the other.
class PackedVarints {
  public:
    explicit PackedVarints(ByteView run) noexcept : p_(run.data()), end_(p_ + run.size()) {}

    /// Returns false at the end. Throws Error `wire.truncated` or `wire.varint_too_long`: a load
    /// with check="lazy" has not checked the run.
    bool next(std::uint64_t& value) {
        if (p_ == end_) return false;
        const Varint varint = read_varint(p_, end_);
        if (varint.nbytes <= 0) fail(varint);
        p_ += varint.nbytes;
        value = varint.value;
        return true;
    }

  private:
    [[noreturn]] static void fail(const Varint& varint);

    const std::uint8_t* p_;
    const std::uint8_t* end_;
};

/// Little-endian loads of bytes at any alignment.
[[nodiscard]] inline std::uint32_t load32(const std::uint8_t* p) noexcept {
    std::uint32_t value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
}
[[nodiscard]] inline std::uint64_t load64(const std::uint8_t* p) noexcept {
    std::uint64_t value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
}

}  // namespace onnxmap::wire
