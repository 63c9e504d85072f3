#include "wire/reader.hpp"

#include <bit>
#include <vector>

#include "base/error.hpp"

namespace onnxmap::wire {

static_assert(std::endian::native == std::endian::little, "the wire format is read in place");

void Reader::fail(const char* code, const char* message) const {
    Error error(code, message);
    error.offset = static_cast<std::uint64_t>(p_ - begin_);
    throw error;
}

std::uint64_t Reader::tag_at(const std::uint8_t*& p) const {
    const Varint tag = read_varint(p, end_);
    if (tag.nbytes == 0) fail("wire.truncated", "the message ends inside a tag");
    if (tag.nbytes < 0 || tag.nbytes > kMaxTagBytes) {
        fail("wire.tag_too_long", "a tag has more than five bytes");
    }
    if (tag.value > kMaxTag || tag.value < 8) {
        fail("wire.field_number", "a field number is out of range");
    }
    p += tag.nbytes;
    return tag.value;
}

const std::uint8_t* Reader::read_value(const std::uint8_t* p, Field& field) const {
    const auto left = static_cast<std::uint64_t>(end_ - p);
    switch (field.type) {
        case WireType::varint: {
            const Varint varint = read_varint(p, end_);
            if (varint.nbytes == 0) fail("wire.truncated", "the message ends inside a varint");
            if (varint.nbytes < 0) fail("wire.varint_too_long", "a varint has more than ten bytes");
            field.value = varint.value;
            return p + varint.nbytes;
        }
        case WireType::fixed64:
            if (left < 8) fail("wire.truncated", "the message ends inside a fixed64");
            field.value = load64(p);
            return p + 8;
        case WireType::fixed32:
            if (left < 4) fail("wire.truncated", "the message ends inside a fixed32");
            field.value = load32(p);
            return p + 4;
        case WireType::length_delimited: {
            const Varint length = read_varint(p, end_);
            if (length.nbytes == 0) fail("wire.truncated", "the message ends inside a length");
            if (length.nbytes < 0 || length.value > left - static_cast<unsigned>(length.nbytes)) {
                fail("wire.length_overrun",
                     "a length exceeds the rest of its message; is the file incomplete?");
            }
            p += length.nbytes;
            field.bytes = {p, length.value};
            return p + length.value;
        }
        default: fail("wire.wire_type", "wire types 6 and 7 do not exist");
    }
}

const std::uint8_t* Reader::skip_group(const std::uint8_t* p, Field& group) const {
    const std::uint8_t* inside = p;
    std::vector<std::uint32_t> open{
        group.number};  // no recursion, since the file chooses the depth
    while (true) {
        const std::uint8_t* begin = p;
        const std::uint64_t tag = tag_at(p);
        Field field;
        field.number = static_cast<std::uint32_t>(tag >> 3);
        field.type = static_cast<WireType>(tag & 7);
        if (field.type == WireType::start_group) {
            open.push_back(field.number);
        } else if (field.type == WireType::end_group) {
            if (field.number != open.back()) {
                fail("wire.group_mismatch",
                     "the end of a group has another field number than its start");
            }
            open.pop_back();
            if (open.empty()) {
                group.bytes = {inside, begin};
                return p;
            }
        } else {
            p = read_value(p, field);
        }
    }
}

bool Reader::last(std::uint32_t number, WireType type, Field& field) {
    const std::uint32_t wanted = number << 3 | static_cast<std::uint32_t>(type);
    const std::uint8_t* found = nullptr;
    while (true) {
        // The fast path of next_short(), which only notes where the last field begins. The position
        // is in a register: through memory, each step would wait for the one before.
        const std::uint8_t* p = p_;
        while (end_ - p >= 2) {
            const std::uint8_t tag = p[0];
            const std::uint8_t value = p[1];
            if (tag < 8 || ((tag | value) & 0x80) != 0) break;
            const std::uint8_t* next = p + 2;
            const auto its_type = static_cast<WireType>(tag & 7);
            if (its_type == WireType::length_delimited) {
                if (end_ - next < value) break;
                next += value;
            } else if (its_type != WireType::varint) {
                break;
            }
            if (tag == wanted) found = p;
            p = next;
        }
        p_ = p;
        Field other;
        if (!next_any(other)) break;
        if (other.number == number && other.type == type) found = p;
    }
    // The bytes may have changed meanwhile.
    return found != nullptr && Reader(found, end_).next(field) && field.number == number &&
           field.type == type;
}

bool Reader::next_any(Field& field) {
    if (p_ == end_) return false;
    const std::uint8_t* p = p_;
    const std::uint64_t tag = tag_at(p);
    field.begin = p_;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    if (field.type == WireType::start_group) {
        p = skip_group(p, field);
    } else if (field.type == WireType::end_group) {
        fail("wire.end_group", "an end-of-group tag has no matching start");
    } else {
        p = read_value(p, field);
    }
    field.end = p;
    p_ = p;
    return true;
}

void PackedVarints::fail(const Varint& varint) {
    if (varint.nbytes < 0) {
        throw Error("wire.varint_too_long", "a packed varint has more than ten bytes");
    }
    throw Error("wire.truncated", "a packed run ends inside a varint");
}

}  // namespace onnxmap::wire
