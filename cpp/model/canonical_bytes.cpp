#include "model/canonical_bytes.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/unknown_fields.hpp"
#include "onnx/schema.hpp"
#include "wire/writer.hpp"

namespace onnxmap::model {

using onnx::Message;

namespace {

// A varint as protobuf writes it: an int32 is sign-extended.
std::uint64_t varint_of(const wire::FieldRow& row, const wire::Field& value) noexcept {
    if (row.type != wire::Type::int32 && row.type != wire::Type::enumeration) return value.value;
    return static_cast<std::uint64_t>(std::int64_t{value.int32()});
}

// Bytes of a number without its tag.
std::uint64_t number_nbytes(const wire::FieldRow& row, const wire::Field& value) noexcept {
    switch (row.wire_type()) {
        case wire::WireType::fixed32: return 4;
        case wire::WireType::fixed64: return 8;
        default: return wire::varint_nbytes(varint_of(row, value));
    }
}

void write_number(std::string& out, const wire::FieldRow& row, const wire::Field& value) {
    switch (row.wire_type()) {
        case wire::WireType::fixed32:
            wire::write_fixed(out, static_cast<std::uint32_t>(value.value));
            break;
        case wire::WireType::fixed64: wire::write_fixed(out, value.value); break;
        default: wire::write_varint(out, varint_of(row, value));
    }
}

// Calls visit(value) for each value of a repeated field; packed runs become resident.
template <class Visit>
void for_each_value(const Document& document, const Message& message, const wire::FieldRow& row,
                    Visit&& visit) {
    std::vector<std::uint8_t> copy;
    message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
        if (known != &row) return;
        wire::Field field = found;
        if (field.type != row.wire_type()) field.bytes = document.readable(found.bytes, copy);
        Message::unpack(row, field, visit);
    });
}

// Calls packed(row) for each packed field, and one(row, value) for each other value, both by
// number, and then unknown(field).
template <class Packed, class One, class Unknown>
void for_each_part(const Document& document, const Message& message, Packed&& packed, One&& one,
                   Unknown&& unknown) {
    for (std::uint32_t number = 1; number <= wire::MessageTable::kMaxNumber; ++number) {
        const wire::FieldRow* const row = message.table().find(number);
        if (is_unknown(row)) continue;
        if (row->packed) {
            packed(*row);
        } else if (row->repeated()) {
            for_each_value(document, message, *row,
                           [&](const wire::Field& value) { one(*row, value); });
        } else if (const auto value = message.find(*row)) {
            one(*row, *value);
        }
    }
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (is_unknown(row)) unknown(field);
    });
}

// The message of a value; a singular one is merged from its occurrences.
Message child_of(const Message& message, const wire::FieldRow& row, const wire::Field& value) {
    return row.repeated() ? message.inner(row, value) : *message.child(row);
}

}  // namespace

CanonicalBytes::CanonicalBytes(const Document& document, Message message)
    : document_(document), message_(std::move(message)) {
    measure(message_, document.limits().depth + 1);
}

std::uint64_t CanonicalBytes::measure_packed(const Message& message, const wire::FieldRow& row) {
    std::uint64_t nbytes = 0;
    for_each_value(document_, message, row,
                   [&](const wire::Field& value) { nbytes += number_nbytes(row, value); });
    sizes_.push_back(nbytes);
    return nbytes == 0 ? 0 : wire::head_nbytes(row.number, nbytes) + nbytes;
}

std::uint64_t CanonicalBytes::measure(const Message& message, std::uint32_t depth_left) {
    if (depth_left == 0) fail_edited_too_deep();
    const std::size_t own = sizes_.size();
    sizes_.push_back(0);
    std::uint64_t sum = 0;
    for_each_part(
        document_, message, [&](const wire::FieldRow& row) { sum += measure_packed(message, row); },
        [&](const wire::FieldRow& row, const wire::Field& value) {
            if (row.wire_type() != wire::WireType::length_delimited) {
                sum += wire::varint_nbytes(wire::tag_of(row.number, row.wire_type())) +
                       number_nbytes(row, value);
                return;
            }
            const std::uint64_t nbytes =
                row.is_message() ? measure(child_of(message, row, value), depth_left - 1)
                                 : value.bytes.size();
            sum += wire::head_nbytes(row.number, nbytes) + nbytes;
        },
        [&](const wire::Field& field) {
            sum += static_cast<std::uint64_t>(field.end - field.begin);
        });
    sizes_[own] = sum;
    return sum;
}

/// Passes on exactly as many bytes as were measured: a sink has no room for more.
class CanonicalBytes::Writer {
  public:
    Writer(const CanonicalBytes& bytes, ByteSink& sink)
        : document_(bytes.document_), sizes_(bytes.sizes_), sink_(sink), left_(bytes.nbytes()) {}

    void write_all(const Message& message) {
        next_size();
        write(message);
        flush();
        if (left_ != 0) fail_changed();
    }

  private:
    void write(const Message& message) {
        for_each_part(
            document_, message, [&](const wire::FieldRow& row) { write_packed(message, row); },
            [&](const wire::FieldRow& row, const wire::Field& value) {
                write_one(message, row, value);
            },
            [&](const wire::Field& field) { take({field.begin, field.end}); });
    }

    void write_one(const Message& message, const wire::FieldRow& row, const wire::Field& value) {
        if (row.is_message()) {
            wire::write_head(new_, row.number, next_size());
            write(child_of(message, row, value));
        } else if (row.is_text()) {
            wire::write_head(new_, row.number, value.bytes.size());
            take(value.bytes);
        } else {
            wire::write_tag(new_, row.number, row.wire_type());
            write_number(new_, row, value);
            flush_if_full();
        }
    }

    void write_packed(const Message& message, const wire::FieldRow& row) {
        const std::uint64_t nbytes = next_size();
        if (nbytes == 0) return;
        wire::write_head(new_, row.number, nbytes);
        for_each_value(document_, message, row, [&](const wire::Field& value) {
            write_number(new_, row, value);
            flush_if_full();
        });
    }

    std::uint64_t next_size() {
        if (next_ == sizes_.size()) fail_changed();
        return sizes_[next_++];
    }

    void count(std::uint64_t nbytes) {
        if (nbytes > left_) fail_changed();
        left_ -= nbytes;
    }

    void flush_if_full() {
        constexpr std::size_t kAtOnce = 64 << 10;
        if (new_.size() >= kAtOnce) flush();
    }

    void flush() {
        count(new_.size());
        sink_.take_new(as_bytes(new_));
        new_.clear();
    }

    void take(ByteView bytes) {
        flush();
        count(bytes.size());
        if (!bytes.empty()) sink_.take(bytes);
    }

    const Document& document_;
    const std::vector<std::uint64_t>& sizes_;
    std::size_t next_ = 0;
    ByteSink& sink_;
    std::uint64_t left_;
    std::string new_;
};

void CanonicalBytes::write(ByteSink& sink) const { Writer(*this, sink).write_all(message_); }

}  // namespace onnxmap::model
