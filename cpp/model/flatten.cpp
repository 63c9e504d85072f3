#include "model/flatten.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"
#include "wire/writer.hpp"

namespace onnxmap::model {

namespace {

constexpr const wire::FieldRow& kRawData = onnx::field<"TensorProto.raw_data">;
constexpr const wire::FieldRow& kDataType = onnx::field<"TensorProto.data_type">;

// Whether the content of a field is elsewhere, not behind its tag and its length.
bool is_held(const wire::Field& field) noexcept { return field.begin == field.end; }

// Bytes of a field that is passed on as it is.
std::uint64_t plain_nbytes(const wire::Field& field) noexcept {
    if (!is_held(field)) return static_cast<std::uint64_t>(field.end - field.begin);
    return wire::head_nbytes(field.number, field.bytes.size()) + field.bytes.size();
}

void check_group(ByteView group, std::uint32_t depth_left) {
    if (depth_left == 0) fail_edited_too_deep();
    wire::Reader reader(group);
    wire::Field field;
    while (reader.next(field)) {
        if (field.type == wire::WireType::start_group) check_group(field.bytes, depth_left - 1);
    }
}

// Whether a field of a message holds one of the occurrences that `whole` consists of.
bool is_part(const onnx::Message& whole, const wire::Field& field) {
    const onnx::Pieces* pieces = whole.pieces().get();
    if (pieces != nullptr && pieces->edited()) pieces = pieces->merged().get();
    if (pieces == nullptr) return field.bytes.data() == whole.key();
    // Occurrences are in file order.
    return std::ranges::binary_search(pieces->occurrences(), field.bytes.data(), {},
                                      [](ByteView bytes) { return bytes.data(); });
}

// The padding in front of raw_data is the field data_type, repeated: the last one counts, and all
// have the same value. Tags and lengths of more bytes than needed are not read by every reader.
// Values are, up to five bytes: protobuf.js and Netron read an int32 of six to nine bytes as ten.
constexpr std::uint64_t kLongestValue = 5;
constexpr std::uint64_t kLargestType = 0x7f;  // of one byte; tensors of other types get no padding

std::uint64_t type_nbytes(const onnx::Message& tensor) {
    const auto type = tensor.find(kDataType);
    return 1 + wire::varint_nbytes(type ? type->value : 0);
}

// Writes data_type fields of `nbytes` bytes together, at least those of one in its shortest form.
void write_padded_type(std::string& out, std::uint64_t type, std::uint64_t nbytes) {
    const std::uint64_t shortest = 1 + wire::varint_nbytes(type);
    while (nbytes > 0) {
        std::uint64_t here = std::min(nbytes, 1 + kLongestValue);
        // What is left must be enough for another field.
        if (nbytes - here > 0 && nbytes - here < shortest) here = nbytes - shortest;
        wire::write_tag(out, kDataType.number, wire::WireType::varint);
        wire::write_long_varint(out, type, here - 1);
        nbytes -= here;
    }
}

}  // namespace

/// Joins neighbouring ranges.
class FlatMessage::Writer {
  public:
    Writer(ByteSink& sink, std::uint64_t nbytes) : sink_(sink), left_(nbytes) {}

    void take(ByteView bytes) {
        if (bytes.empty()) return;
        count(bytes.size());
        if (!pending_.empty() && pending_.data() + pending_.size() == bytes.data()) {
            pending_ = {pending_.data(), pending_.size() + bytes.size()};
            return;
        }
        flush();
        pending_ = bytes;
    }

    /// Content that is elsewhere: its source may begin where another one ends.
    void take_held(ByteView bytes) {
        flush();
        take(bytes);
        flush();
    }

    void take(const wire::Field& field) {
        if (is_held(field)) {
            take_head(field.number, field.bytes.size(), 1);
            take_held(field.bytes);
        } else {
            take(ByteView(field.begin, field.end));
        }
    }

    void take_new(std::string_view bytes) {
        flush();
        count(bytes.size());
        sink_.take_new(as_bytes(bytes));
    }

    /// The tag and the length of that much content; the length has at least `length_nbytes` bytes.
    void take_head(std::uint32_t number, std::uint64_t content, std::uint64_t length_nbytes) {
        head_.clear();
        wire::write_tag(head_, number, wire::WireType::length_delimited);
        wire::write_long_varint(head_, content, length_nbytes);
        take_new(head_);
    }

    void finish() {
        flush();
        if (left_ != 0) fail_changed();
    }

  private:
    // A sink has room for what was measured. The bytes may have changed since.
    void count(std::uint64_t nbytes) {
        if (nbytes > left_) fail_changed();
        left_ -= nbytes;
    }

    void flush() {
        if (!pending_.empty()) sink_.take(std::exchange(pending_, {}));
    }

    ByteSink& sink_;
    std::uint64_t left_;
    ByteView pending_;
    std::string head_;
};

FlatMessage::FlatMessage(const Document& document, const onnx::Message& message)
    : FlatMessage(document, message,
                  document.edits().any() ? document.edits().messages_in(message) : EditedFields(),
                  {}) {}

FlatMessage::FlatMessage(const Document& document, const onnx::Message& message, EditedFields edits,
                         Alignment alignment)
    : edits_(std::move(edits)),
      alignment_(alignment),
      document_(document),
      pages_(document.source(), true) {
    for (const auto& [key, _] : edits_) note(key);
    message_ = message.with(*this);
    nbytes_ = measure(message_, 0, document.limits().depth + 1);
}

std::shared_ptr<const onnx::Pieces> FlatMessage::find(const std::uint8_t* key) const {
    const auto found = edits_.find(key);
    return found == edits_.end() ? nullptr : found->second;
}

bool FlatMessage::is_added(const std::uint8_t* key) const {
    return document_.edits().is_added(key);
}

bool FlatMessage::has_edit(const onnx::Message& message) const {
    if (message.edited()) return true;
    if (edits_.empty()) return false;
    bool found = false;
    message.for_each_loaded([&](ByteView bytes) {
        const auto first = edits_.lower_bound(bytes.data());
        found = found || (first != edits_.end() && first->first <= bytes.data() + bytes.size());
    });
    return found;
}

std::optional<wire::Field> FlatMessage::aligned_raw_data(const onnx::Message& message) const {
    if (alignment_.of_raw_data <= 1 || &message.table() != &onnx::message<"TensorProto">) {
        return std::nullopt;
    }
    auto raw_data = message.find(kRawData);
    const auto type = message.find(kDataType);
    const bool is_aligned =
        raw_data && type && type->value <= kLargestType &&
        raw_data->bytes.size() >= std::max<std::uint64_t>(alignment_.least_nbytes, 1);
    return is_aligned ? raw_data : std::nullopt;
}

bool FlatMessage::is_rewritten(const onnx::Message& message, const wire::FieldRow& row) const {
    return (alignment_.of_raw_data > 1 && holds_tensors(row)) || has_edit(message);
}

// Calls plain(field, row) for each field that is passed on as it is, and inner(field, message) for
// each message that is written anew. `is_aligned`: without raw_data and data_type, which follow.
template <class Plain, class Inner>
void FlatMessage::for_each_part(const onnx::Message& message, bool is_aligned, Plain&& plain,
                                Inner&& inner) const {
    // The singular messages that are written anew. An edit in a message that occurs several times
    // makes it one message: an edit anywhere in it may have taken over fields of all its
    // occurrences.
    std::uint32_t looked = 0;  // a bit for each field
    std::vector<std::pair<const wire::FieldRow*, onnx::Message>> edited;
    const auto find_edited = [&](const wire::FieldRow& row) -> const onnx::Message* {
        const std::uint32_t bit = std::uint32_t{1} << row.number;
        if ((looked & bit) == 0) {
            looked |= bit;
            auto child = message.child(row);
            if (child && is_rewritten(*child, row)) edited.emplace_back(&row, *std::move(child));
        }
        const auto found =
            std::ranges::find(edited, &row, [](const auto& each) { return each.first; });
        return found == edited.end() ? nullptr : &found->second;
    };
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        pages_.note_read({field.begin, 0});
        if (is_aligned && (row == &kRawData || row == &kDataType)) return;
        if (row == nullptr || !row->is_message()) {
            plain(field, row);
        } else if (row->repeated()) {
            const onnx::Message child = message.inner(*row, field);
            if (is_rewritten(child, *row)) {
                inner(field, child);
            } else {
                plain(field, row);
            }
        } else {
            // A member of a oneof may occur before another member, which replaces it. Such an
            // occurrence is no part of the message.
            const onnx::Message* const whole = find_edited(*row);
            if (whole == nullptr || !is_part(*whole, field)) {
                plain(field, row);
            } else if (field.bytes.data() == whole->key()) {
                inner(field, *whole);
            }
        }
    });
}

// What edits added may be deeper in the document than where it was before.
void FlatMessage::check_depth(const onnx::Message& message, const wire::FieldRow* row,
                              const wire::Field& field, std::uint32_t depth_left) const {
    if (row == nullptr && field.type == wire::WireType::start_group) {
        check_group(field.bytes, depth_left);
    } else if (row != nullptr && row->is_message()) {
        if (depth_left == 0) fail_edited_too_deep();
        const onnx::Message child = message.inner(*row, field);
        child.for_each_field([&](const wire::Field& below, const wire::FieldRow* below_row) {
            check_depth(child, below_row, below, depth_left - 1);
        });
    }
}

std::uint64_t FlatMessage::measure(const onnx::Message& message, std::uint64_t position,
                                   std::uint32_t depth_left) {
    if (alignment_.of_raw_data <= 1 && !has_edit(message)) return message.nbytes();
    if (depth_left == 0) fail_edited_too_deep();
    const auto raw_data = aligned_raw_data(message);
    std::uint64_t sum = 0;
    const auto add = [&](std::uint64_t nbytes) {
        if (!checked_add(sum, nbytes, sum) || sum > INT64_MAX) {
            throw Error("save.too_large", "the message has more than 2^63 bytes");
        }
    };
    for_each_part(
        message, raw_data.has_value(),
        [&](const wire::Field& field, const wire::FieldRow* row) {
            if (!document_.store().holds(field.bytes)) {
                check_depth(message, row, field, depth_left - 1);
            }
            add(plain_nbytes(field));
        },
        [&](const wire::Field& field, const onnx::Message& child) {
            add(measure_field(field, child, position + sum, depth_left - 1));
        });
    if (!raw_data) return sum;
    const std::uint64_t content = raw_data->bytes.size();
    const std::uint64_t least =
        sum + type_nbytes(message) + wire::head_nbytes(kRawData.number, content);
    const std::uint64_t over = (position + least) % alignment_.of_raw_data;
    const std::uint64_t padding = over == 0 ? 0 : alignment_.of_raw_data - over;
    sizes_[message.key()].padding = padding;
    return least + padding + content;
}

std::uint64_t FlatMessage::measure_field(const wire::Field& field, const onnx::Message& message,
                                         std::uint64_t position, std::uint32_t depth_left) {
    const std::uint64_t tag_nbytes =
        wire::varint_nbytes(wire::tag_of(field.number, wire::WireType::length_delimited));
    // The length decides where the content begins, and the padding in the content its length. A
    // length that gets shorter again is written over-long.
    std::uint64_t length_nbytes = wire::varint_nbytes(message.nbytes());
    const auto known = sizes_.find(message.key());
    if (known != sizes_.end()) length_nbytes = known->second.length_nbytes;
    while (true) {
        const std::uint64_t nbytes =
            measure(message, position + tag_nbytes + length_nbytes, depth_left);
        const std::uint64_t needed = wire::varint_nbytes(nbytes);
        if (needed <= length_nbytes || alignment_.of_raw_data <= 1) {
            if (alignment_.of_raw_data <= 1) length_nbytes = needed;
            Size& size = sizes_[message.key()];
            size.nbytes = nbytes;
            size.length_nbytes = length_nbytes;
            return tag_nbytes + length_nbytes + nbytes;
        }
        length_nbytes = needed;
    }
}

void FlatMessage::write(const onnx::Message& message, Writer& writer) const {
    if (alignment_.of_raw_data <= 1 && !has_edit(message)) {
        message.for_each_range([&](ByteView bytes) { writer.take(bytes); });
        return;
    }
    const auto raw_data = aligned_raw_data(message);
    for_each_part(
        message, raw_data.has_value(),
        [&](const wire::Field& field, const wire::FieldRow*) { writer.take(field); },
        [&](const wire::Field& field, const onnx::Message& child) {
            write_field(field, child, writer);
        });
    if (!raw_data) return;
    std::string types;
    const auto type = message.find(kDataType);
    write_padded_type(types, type ? type->value : 0,
                      type_nbytes(message) + sizes_.at(message.key()).padding);
    writer.take_new(types);
    writer.take_head(kRawData.number, raw_data->bytes.size(), 1);
    writer.take_held(raw_data->bytes);
}

void FlatMessage::write_field(const wire::Field& field, const onnx::Message& message,
                              Writer& writer) const {
    const auto size = sizes_.find(message.key());
    if (size == sizes_.end()) fail_changed();
    writer.take_head(field.number, size->second.nbytes, size->second.length_nbytes);
    write(message, writer);
}

void FlatMessage::write(ByteSink& sink) const {
    Writer writer(sink, nbytes_);
    write(message_, writer);
    writer.finish();
}

}  // namespace onnxmap::model
