#include "model/message_hash.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/seeded_hash.hpp"
#include "onnx/schema.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::model {

using onnx::Message;

namespace {

constexpr std::uint32_t kMostFacts = 256;
constexpr std::size_t kMostValues = 16;  // of one field
constexpr std::size_t kMostBytes = 64;   // of one text
constexpr int kMostDepth = 8;

class Hash {
  public:
    explicit Hash(const Document& document) : document_(document) {}

    void add(const Message& message, int depth) {
        const bool is_tensor = &message.table() == &onnx::message<"TensorProto">;
        const bool has_values = !is_tensor || message.text(onnx::field<"TensorProto.name">).empty();
        for (const wire::FieldRow& row : message.table().fields) {
            if (left_ == 0) return;
            const bool is_payload = is_tensor && (tensor::kPayloadFields >> row.number & 1) != 0;
            if (is_payload && !has_values) continue;
            if (row.repeated()) {
                add_list(message, row, depth);
            } else if (row.is_message()) {
                if (const auto child = message.child(row)) add_child(row, *child, depth);
            } else if (const auto value = message.find(row)) {
                add_value(row, *value, is_payload);
            }
        }
    }

    [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

  private:
    void add_list(const Message& message, const wire::FieldRow& row, int depth) {
        std::uint32_t count = 0;
        message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
            if (known != &row || count == kMostValues) return;
            wire::Field field = found;
            if (field.type != row.wire_type()) {  // a packed run: ten bytes hold any number
                const std::size_t most =
                    std::min<std::size_t>(10 * kMostValues, found.bytes.size());
                field.bytes = whole_values(row, document_.resident(found.bytes.first(most)));
            }
            Message::unpack(row, field, [&](const wire::Field& value) {
                if (count == kMostValues) return;
                ++count;
                if (row.is_message()) {
                    add_child(row, message.inner(row, value), depth);
                } else {
                    add_value(row, value);
                }
            });
        });
    }

    // The bytes without a varint at the end that is cut.
    static ByteView whole_values(const wire::FieldRow& row, ByteView run) {
        if (row.wire_type() != wire::WireType::varint) return run;
        std::size_t end = run.size();
        while (end > 0 && run[end - 1] >= 0x80) --end;
        return run.first(end);
    }

    void add_child(const wire::FieldRow& row, const Message& child, int depth) {
        mix(row.number);
        if (depth < kMostDepth) add(child, depth + 1);
    }

    void add_value(const wire::FieldRow& row, const wire::Field& value, bool is_payload = false) {
        if (left_ == 0) return;
        --left_;
        mix(row.number);
        if (row.is_text()) {
            add_text(value.bytes, is_payload);
        } else if (row.type == wire::Type::int32 || row.type == wire::Type::enumeration) {
            mix(static_cast<std::uint32_t>(value.int32()));
        } else {
            mix(value.value);
        }
    }

    // Payload is read, and so is what an edit added: it may be in another file. All other bytes are
    // in memory.
    void add_text(ByteView bytes, bool is_payload) {
        mix(bytes.size());
        std::array<std::uint8_t, kMostBytes> copy{};
        const auto some = std::span(copy).first(std::min(bytes.size(), kMostBytes));
        const ByteView first = bytes.first(some.size());
        if (is_payload || !document_.store().holds(first)) {
            document_.read(first, some);
        } else {
            std::ranges::copy(document_.resident(first), some.begin());
        }
        for (std::size_t i = 0; i < some.size(); i += 8) mix(wire::load64(copy.data() + i));
    }

    void mix(std::uint64_t number) noexcept {
        hash_ = (hash_ ^ number) * kScatter;
        hash_ ^= hash_ >> 32;
    }

    const Document& document_;
    std::uint64_t hash_ = reinterpret_cast<std::uintptr_t>(&kMostFacts);  // differs by process
    std::uint32_t left_ = kMostFacts;
};

}  // namespace

std::uint64_t hash_of(const Document& document, const Message& message) {
    Hash hash(document);
    hash.add(message, 0);
    return hash.value();
}

}  // namespace onnxmap::model
