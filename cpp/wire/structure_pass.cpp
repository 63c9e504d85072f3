#include "wire/structure_pass.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "wire/packed_scan.hpp"
#include "wire/varint.hpp"

namespace onnxmap::wire {

namespace {

// The most bytes of a tag and a length or value.
constexpr std::uint64_t kLookahead = kMaxTagBytes + kMaxVarintBytes + 1;

// The field of a message that is being read, and for the path of an error, its occurrence.
struct Trace {
    std::uint32_t number = 0;
    std::array<std::uint64_t, MessageTable::kMaxNumber + 1> counts{};
};

struct Frame {
    std::uint64_t end;          // offset after the message; for a group, after its parent
    const MessageTable* table;  // null inside an unknown group: every field is unknown there
    Occurrences* notes;         // null for messages that are not indexed
    std::uint32_t group;        // field number of the group, 0 for a message
    std::uint64_t begin;        // of the tag
};

// kTrace: also counts occurrences, for the path of an error that the first, fast pass found.
template <bool kTrace>
class StructurePass {
  public:
    StructurePass(ByteFeed& feed, const Schema& schema, const MessageTable& root,
                  const PassOptions& options)
        : feed_(feed),
          schema_(schema),
          options_(options),
          size_(feed.size()),
          structure_(root,
                     options.indexed_child ? schema.message_of(*options.indexed_child) : root) {
        push({size_, &root, &structure_.fields, 0, 0});
    }

    Structure run() {
        while (true) {
            if (p_ == stop_) {
                if (offset() == innermost().end) {
                    if (innermost().group != 0) {
                        if constexpr (kTrace) traces_.back().number = 0;
                        fail("wire.group_unterminated", innermost().begin,
                             "a group is never closed");
                    }
                    if (depth_ == 1) return std::move(structure_);
                    pop();
                    continue;
                }
                refill(kLookahead);
            } else if (static_cast<std::uint64_t>(limit_ - p_) < kLookahead &&
                       limit_offset_ < size_) {
                refill(kLookahead);
            }
            if constexpr (!kTrace) {
                if (skip_quick()) continue;
            }
            read_field();
        }
    }

  private:
    // Skips fields whose tag and value or length have one byte each, as nearly all have, while
    // nothing about them is noted. Returns whether it skipped any field, and so perhaps reached the
    // end of the message or of the window. Leaves all other fields to read_field.
    bool skip_quick() noexcept {
        const Frame& frame = innermost();
        if (frame.notes != nullptr || frame.table == nullptr) return false;
        const auto& quick = frame.table->quick;
        const std::uint8_t* p = p_;
        while (stop_ - p >= 2) {
            // Each byte is read once: another process may change it at any time.
            const std::uint8_t tag = p[0];
            const std::uint8_t next = p[1];
            if (((tag | next) & 0x80) != 0) break;
            const Quick action = quick[tag];
            if (action == Quick::no) break;
            const std::ptrdiff_t length = action == Quick::skip_length ? next : 0;
            if (length > stop_ - p - 2) break;
            p += 2 + length;
        }
        const bool moved = p != p_;
        p_ = p;
        return moved;
    }

    [[nodiscard]] std::uint64_t offset() const noexcept {
        return limit_offset_ - static_cast<std::uint64_t>(limit_ - p_);
    }

    void set_stop() noexcept {
        const std::uint64_t end = innermost().end;
        stop_ = end < limit_offset_ ? limit_ - (limit_offset_ - end) : limit_;
    }

    void refill(std::uint64_t least) {
        const std::uint64_t here = offset();
        const ByteView view = feed_.at(here, least);
        p_ = view.data();
        limit_ = p_ + view.size();
        limit_offset_ = here + view.size();
        set_stop();
    }

    [[gnu::always_inline]] void push(const Frame& frame) {
        if (depth_ > options_.max_depth) fail_depth(frame.begin);
        if (depth_ == frames_.size()) grow();
        frames_[depth_++] = frame;
        if constexpr (kTrace) traces_.emplace_back();
        set_stop();
    }

    [[gnu::noinline]] void grow() { frames_.resize(std::max<std::size_t>(16, 2 * depth_)); }

    [[nodiscard]] Frame& innermost() noexcept { return frames_[depth_ - 1]; }
    [[nodiscard]] const Frame& innermost() const noexcept { return frames_[depth_ - 1]; }

    void pop() {
        --depth_;
        if constexpr (kTrace) traces_.pop_back();
        set_stop();
    }

    void read_field() {
        const std::uint64_t begin = offset();
        if constexpr (kTrace) traces_.back().number = 0;
        const Varint tag = read_varint(p_, stop_);
        if (tag.nbytes != 1) check_long_tag(tag, begin);
        const auto number = static_cast<std::uint32_t>(tag.value >> 3);
        if (number == 0) fail_zero_field(tag.value, begin);
        p_ += tag.nbytes;

        Frame& frame = innermost();
        if constexpr (kTrace) {
            traces_.back().number = number;
            if (number <= MessageTable::kMaxNumber) ++traces_.back().counts.at(number);
        }
        const auto type = static_cast<WireType>(tag.value & 7);
        const FieldRow* row = frame.table == nullptr ? nullptr : frame.table->find(number);
        if (row != nullptr && !row->accepts(type)) row = nullptr;
        if (type != WireType::varint) note(row, begin);
        switch (type) {
            case WireType::varint: {
                const Varint value = read_varint(p_, stop_);
                if (value.nbytes <= 0) fail_varint(value, begin, "a varint");
                p_ += value.nbytes;
                note(listed(row, value.value), begin);
                break;
            }
            case WireType::fixed64: skip_fixed(8, begin); break;
            case WireType::fixed32: skip_fixed(4, begin); break;
            case WireType::length_delimited: read_length_delimited(row, begin); break;
            case WireType::start_group: push({frame.end, nullptr, nullptr, number, begin}); break;
            case WireType::end_group:
                if (frame.group == 0) {
                    fail("wire.end_group", begin, "an end-of-group tag has no matching start");
                }
                if (frame.group != number) {
                    fail("wire.group_mismatch", begin,
                         "group " + std::to_string(frame.group) + " is closed as group " +
                             std::to_string(number));
                }
                pop();
                break;
            default: fail_wire_type(begin);
        }
    }

    void note(const FieldRow* row, std::uint64_t begin) {
        const Frame& frame = innermost();
        if (row == nullptr || frame.notes == nullptr) return;
        (*frame.notes)[frame.table->position_of(*row)].note(begin);
    }

    // Null for an enum value that is not listed: for a closed enum the field is unknown.
    [[nodiscard]] const FieldRow* listed(const FieldRow* row, std::uint64_t value) const noexcept {
        if (row == nullptr || row->type != Type::enumeration) return row;
        return schema_.enum_of(*row).find(static_cast<std::int32_t>(value)) ? row : nullptr;
    }

    void skip_fixed(std::ptrdiff_t width, std::uint64_t begin) {
        if (stop_ - p_ < width) fail("wire.truncated", begin, "the bytes end inside a fixed value");
        p_ += width;
    }

    void read_length_delimited(const FieldRow* row, std::uint64_t begin) {
        const Varint length = read_varint(p_, stop_);
        if (length.nbytes <= 0) fail_varint(length, begin, "a length");
        if (length.nbytes > kMaxLengthBytes) check_long_length(length, begin);
        p_ += length.nbytes;
        const std::uint64_t content = offset();
        const std::uint64_t left = innermost().end - content;
        if (length.value > left) {
            fail("wire.length_overrun", begin,
                 "a length is " + std::to_string(length.value) + " bytes, but only " +
                     std::to_string(left) + " are left; is the file incomplete?");
        }
        if (row != nullptr && row->is_message()) {
            enter(*row, content, length.value, begin);
        } else if (row != nullptr && row->packable()) {
            read_packed(*row, length.value, begin);
        } else {
            skip(length.value, row);
        }
    }

    void enter(const FieldRow& row, std::uint64_t content, std::uint64_t nbytes,
               std::uint64_t begin) {
        const MessageTable& table = schema_.message_of(row);
        if (&table == options_.payload_message && ++counted_ > options_.max_payload_messages) {
            fail("limit.tensors", begin,
                 "more than " + std::to_string(options_.max_payload_messages) +
                     " tensors; raise the limit with limits=Limits(tensors=...)");
        }
        Occurrences* notes = nullptr;
        if (depth_ == 1 && &row == options_.indexed_child) {
            notes = &structure_.child;
            if (nbytes > 0) structure_.child_parts.push_back({content, nbytes});
            if (structure_.child_parts.size() > options_.max_pieces) {
                fail("limit.pieces", begin,
                     "one message is in more than " + std::to_string(options_.max_pieces) +
                         " pieces; raise the limit with limits=Limits(pieces=...)");
            }
        }
        if (nbytes == 0 && depth_ <= options_.max_depth) return;
        push({content + nbytes, &table, notes, 0, begin});
    }

    void read_packed(const FieldRow& row, std::uint64_t nbytes, std::uint64_t begin) {
        const WireType element = row.wire_type();
        if (element != WireType::varint) {
            const unsigned width = element == WireType::fixed32 ? 4 : 8;
            if (nbytes % width != 0) {
                fail("wire.packed_length", begin,
                     "a packed run of " + std::to_string(nbytes) + " bytes is not a multiple of " +
                         std::to_string(width));
            }
        } else if (options_.scan_packed || !is_payload(row)) {
            scan_packed_varints(nbytes);
            return;
        }
        skip(nbytes, &row);
    }

    void scan_packed_varints(std::uint64_t nbytes) {
        PackedScan scan;
        for (std::uint64_t left = nbytes; left > 0;) {
            if (p_ == limit_) refill(std::min<std::uint64_t>(left, 1 << 16));
            const std::uint64_t chunk = std::min(left, static_cast<std::uint64_t>(limit_ - p_));
            if (!scan.feed({p_, chunk})) fail_packed(chunk);
            p_ += chunk;
            left -= chunk;
        }
        if (!scan.complete()) {
            fail("wire.truncated", offset() - static_cast<unsigned>(scan.unfinished()),
                 "a packed run ends inside a varint");
        }
    }

    // The varint that is too long begins in this chunk, or up to nine bytes before it.
    [[noreturn]] void fail_packed(std::uint64_t chunk) {
        const std::uint64_t here = offset();
        const std::uint64_t from = here - std::min<std::uint64_t>(here, kMaxVarintBytes);
        std::uint64_t in_a_row = 0;
        for (std::uint64_t at = from; at < here + chunk;) {
            const ByteView view = feed_.at(at, 1);
            for (const std::uint8_t byte : view) {
                in_a_row = byte >= 0x80 ? in_a_row + 1 : 0;
                ++at;
                if (in_a_row == kMaxVarintBytes && at > here) {
                    fail("wire.varint_too_long", at - kMaxVarintBytes,
                         "a packed varint has more than ten bytes");
                }
            }
        }
        fail("wire.varint_too_long", here, "a packed varint has more than ten bytes");
    }

    [[nodiscard]] bool is_payload(const FieldRow& row) const noexcept {
        return innermost().table == options_.payload_message &&
               (options_.payload_fields >> row.number & 1) != 0;
    }

    // `row` is null for an unknown field.
    void skip(std::uint64_t nbytes, const FieldRow* row) {
        const auto at_hand = static_cast<std::uint64_t>(limit_ - p_);
        if (nbytes <= at_hand) {
            p_ += nbytes;
            return;
        }
        if (row == nullptr || !is_payload(*row)) feed_.keep(offset(), nbytes);
        limit_offset_ = offset() + nbytes;  // an empty window after the payload
        limit_ = stop_ = p_;
    }

    void check_long_tag(const Varint& tag, std::uint64_t begin) {
        if (tag.nbytes == 0) fail_varint(tag, begin, "a tag");
        if (tag.nbytes < 0 || tag.nbytes > kMaxTagBytes) {
            fail("wire.tag_too_long", begin, "a tag has more than five bytes");
        }
        if (tag.value > kMaxTag) fail("wire.field_number", begin, "a field number is out of range");
    }

    void check_long_length(const Varint& length, std::uint64_t begin) {
        if (length.value >= std::uint64_t{1} << 63) {
            fail("wire.length_too_large", begin, "a length is 2^63 bytes or more");
        }
        if (length.value < std::uint64_t{1} << (7 * kMaxLengthBytes)) {
            fail("wire.length_too_long", begin, "a length is written in more bytes than it needs");
        }
    }

    [[noreturn]] void fail_depth(std::uint64_t begin) {
        fail("limit.depth", begin,
             "messages are nested more than " + std::to_string(options_.max_depth) +
                 " deep; raise the limit with limits=Limits(depth=...)");
    }

    [[noreturn]] void fail_varint(const Varint& varint, std::uint64_t begin,
                                  const std::string& what) {
        if (varint.nbytes < 0) {
            fail("wire.varint_too_long", begin, what + " has more than ten bytes");
        }
        fail("wire.truncated", begin, "the bytes end inside " + what);
    }

    [[noreturn]] void fail_wire_type(std::uint64_t begin) {
        fail("wire.wire_type", begin, "wire types 6 and 7 do not exist");
    }

    [[noreturn]] void fail_zero_field(std::uint64_t tag, std::uint64_t begin) {
        if ((tag & 7) > static_cast<std::uint64_t>(WireType::fixed32)) fail_wire_type(begin);
        std::string message = "field number 0 does not exist";
        if (depth_ == 1 && zeros_to_the_end(begin)) {
            message = "zero bytes after offset " + std::to_string(begin) +
                      ": an incomplete download or a preallocated file?";
        }
        fail("wire.field_number", begin, message);
    }

    [[nodiscard]] bool zeros_to_the_end(std::uint64_t begin) {
        constexpr std::uint64_t kMostLookedAt = 1 << 20;
        const std::uint64_t end = std::min(size_, begin + kMostLookedAt);
        for (std::uint64_t at = begin; at < end;) {
            const ByteView view = feed_.at(at, 1);
            if (!std::all_of(view.begin(), view.end(), [](std::uint8_t b) { return b == 0; })) {
                return false;
            }
            at += view.size();
        }
        return true;
    }

    [[noreturn]] void fail(const char* code, std::uint64_t begin, const std::string& message) {
        Error error(code, message);
        error.offset = begin;
        if constexpr (kTrace) error.path = path();
        throw error;
    }

    [[nodiscard]] std::string path() const {
        std::string path;
        for (std::size_t i = 0; i < traces_.size(); ++i) {
            const std::uint32_t number = traces_[i].number;
            if (number == 0) break;
            const MessageTable* table = frames_[i].table;
            const FieldRow* row = table == nullptr ? nullptr : table->find(number);
            if (!path.empty()) path += '.';
            path += row == nullptr ? std::to_string(number) : std::string(row->name);
            if (row != nullptr && row->repeated() && !row->packable()) {
                path += '[' + std::to_string(traces_[i].counts.at(number) - 1) + ']';
            }
        }
        return path;
    }

    ByteFeed& feed_;
    const Schema& schema_;
    const PassOptions& options_;
    const std::uint64_t size_;
    Structure structure_;
    // The first `depth_` are in use: gcc does not inline push_back(), which is a sixth of the time
    // of a load.
    std::vector<Frame> frames_;
    std::size_t depth_ = 0;
    std::vector<Trace> traces_;
    std::uint64_t counted_ = 0;

    // The window: bytes up to `limit_`, which is at `limit_offset_` in the source. `stop_` is the
    // end of the innermost message or of the window, whichever comes first.
    const std::uint8_t* p_ = nullptr;
    const std::uint8_t* limit_ = nullptr;
    const std::uint8_t* stop_ = nullptr;
    std::uint64_t limit_offset_ = 0;
};

}  // namespace

Structure read_structure(ByteFeed& feed, const Schema& schema, const MessageTable& root,
                         const PassOptions& options) {
    try {
        return StructurePass<false>(feed, schema, root, options).run();
    } catch (const Error& error) {
        if (error.code == "file.changed") throw;
        static_cast<void>(StructurePass<true>(feed, schema, root, options).run());
        throw;  // the bytes changed between the two passes
    }
}

}  // namespace onnxmap::wire
