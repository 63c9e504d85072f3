// A deliberately naive parser, written from the rules of the wire format alone. It recurses, reads
// byte by byte, and has all bytes in memory.
// The structure pass must agree with it on every input about the verdict, code, offset, and places
// of fields. Source: protobuf.dev, "Encoding", as upb reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "wire/message_table.hpp"
#include "wire/structure_pass.hpp"

namespace onnxmap::test {

/// The result of a pass over some bytes. `code` is "accepted" if nothing is wrong.
struct Verdict {
    std::string code = "accepted";
    std::uint64_t offset = 0;

    bool operator==(const Verdict&) const = default;
};

/// A field of the root or of the indexed child, and the offset of its tag.
struct Occurrence {
    const wire::FieldRow* row;
    std::uint64_t offset;
};

class ReferenceParser {
  public:
    ReferenceParser(ByteView bytes, const wire::Schema& schema, const wire::MessageTable& root,
                    const wire::PassOptions& options)
        : bytes_(bytes), schema_(schema), options_(options) {
        try {
            read_message({bytes.size(), &root, &fields, 0, 0, 0});
        } catch (const Verdict& refusal) {
            verdict = refusal;
        }
    }

    Verdict verdict;
    std::vector<Occurrence> fields;
    std::vector<Occurrence> child;

  private:
    struct Level {
        std::uint64_t end;
        const wire::MessageTable* table;  // null: every field is unknown
        std::vector<Occurrence>* notes;
        std::uint64_t group;  // its field number, 0 for a message
        std::uint64_t begin;  // of the tag
        std::uint32_t depth;
    };

    struct Number {
        std::uint64_t value;
        std::uint64_t width;
    };

    [[noreturn]] static void refuse(const char* code, std::uint64_t offset) {
        throw Verdict{code, offset};
    }

    // Nothing if the bytes end first. A width of 11 means "more than ten bytes".
    [[nodiscard]] std::optional<Number> read_number(std::uint64_t end) const {
        Number number{0, 0};
        for (std::uint64_t i = at_; i < end; ++i) {
            if (++number.width > 10) return number;
            const unsigned shift = static_cast<unsigned>(number.width - 1) * 7;
            number.value |= static_cast<std::uint64_t>(bytes_[i] & 0x7f) << shift;
            if (bytes_[i] < 0x80) return number;
            if (number.width == 10) return Number{0, 11};
        }
        return std::nullopt;
    }

    void read_message(const Level& level) {
        if (level.depth > options_.max_depth) refuse("limit.depth", level.begin);
        while (at_ < level.end) {
            if (read_field(level)) return;  // the group has ended
        }
        if (level.group != 0) refuse("wire.group_unterminated", level.begin);
    }

    bool read_field(const Level& level) {
        const std::uint64_t begin = at_;
        const auto tag = read_number(level.end);
        if (!tag) refuse("wire.truncated", begin);
        if (tag->width > 5) refuse("wire.tag_too_long", begin);
        if (tag->value > UINT32_MAX) refuse("wire.field_number", begin);
        const std::uint64_t number = tag->value >> 3;
        const std::uint64_t type = tag->value & 7;
        if (type > 5) refuse("wire.wire_type", begin);
        if (number == 0) refuse("wire.field_number", begin);
        at_ += tag->width;

        const wire::FieldRow* row = find_row(level, number, static_cast<wire::WireType>(type));
        if (row != nullptr && level.notes != nullptr) level.notes->push_back({row, begin});
        switch (type) {
            case 0: {
                const auto value = read_number(level.end);
                if (!value) refuse("wire.truncated", begin);
                if (value->width > 10) refuse("wire.varint_too_long", begin);
                at_ += value->width;
                break;
            }
            case 1: read_fixed(8, level.end, begin); break;
            case 5: read_fixed(4, level.end, begin); break;
            case 2: read_length_delimited(level, row, begin); break;
            case 3:
                read_message({level.end, nullptr, nullptr, number, begin, level.depth + 1});
                break;
            default:
                if (level.group == 0) refuse("wire.end_group", begin);
                if (level.group != number) refuse("wire.group_mismatch", begin);
                return true;
        }
        return false;
    }

    [[nodiscard]] static const wire::FieldRow* find_row(const Level& level, std::uint64_t number,
                                                        wire::WireType type) {
        if (level.table == nullptr) return nullptr;
        for (const wire::FieldRow& row : level.table->fields) {
            if (row.number != number) continue;
            const bool run = row.packable() && type == wire::WireType::length_delimited;
            return run || row.wire_type() == type ? &row : nullptr;
        }
        return nullptr;
    }

    void read_fixed(std::uint64_t width, std::uint64_t end, std::uint64_t begin) {
        if (end - at_ < width) refuse("wire.truncated", begin);
        at_ += width;
    }

    void read_length_delimited(const Level& level, const wire::FieldRow* row, std::uint64_t begin) {
        const auto length = read_number(level.end);
        if (!length) refuse("wire.truncated", begin);
        if (length->width > 10) refuse("wire.varint_too_long", begin);
        if (length->width > 5) {
            if (length->value > INT64_MAX) refuse("wire.length_too_large", begin);
            if (length->value < std::uint64_t{1} << 35) refuse("wire.length_too_long", begin);
        }
        at_ += length->width;
        if (length->value > level.end - at_) refuse("wire.length_overrun", begin);
        const std::uint64_t end = at_ + length->value;
        if (row != nullptr && row->is_message()) {
            const wire::MessageTable& table = schema_.message_of(*row);
            if (&table == options_.payload_message && ++payloads_ > options_.max_payload_messages) {
                refuse("limit.tensors", begin);
            }
            const bool indexed = level.depth == 0 && row == options_.indexed_child;
            read_message({end, &table, indexed ? &child : nullptr, 0, begin, level.depth + 1});
        } else if (row != nullptr && row->packable()) {
            const bool payload = level.table == options_.payload_message &&
                                 (options_.payload_fields >> row->number & 1) != 0;
            read_packed(*row, end, begin, options_.scan_packed || !payload);
        }
        at_ = end;
    }

    void read_packed(const wire::FieldRow& row, std::uint64_t end, std::uint64_t begin, bool scan) {
        const std::uint64_t nbytes = end - at_;
        switch (row.wire_type()) {
            case wire::WireType::fixed32:
                if (nbytes % 4 != 0) refuse("wire.packed_length", begin);
                return;
            case wire::WireType::fixed64:
                if (nbytes % 8 != 0) refuse("wire.packed_length", begin);
                return;
            default: break;
        }
        while (scan && at_ < end) {
            const auto value = read_number(end);
            if (!value) refuse("wire.truncated", at_);
            if (value->width > 10) refuse("wire.varint_too_long", at_);
            at_ += value->width;
        }
    }

    ByteView bytes_;
    const wire::Schema& schema_;
    const wire::PassOptions& options_;
    std::uint64_t at_ = 0;
    std::uint64_t payloads_ = 0;
};

}  // namespace onnxmap::test
