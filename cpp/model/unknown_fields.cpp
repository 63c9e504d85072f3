#include "model/unknown_fields.hpp"

#include <utility>

#include "base/error.hpp"

namespace onnxmap::model {

namespace {

// A message type without known fields.
constexpr wire::MessageTable kGroup = [] {
    wire::MessageTable table;
    table.position.fill(wire::MessageTable::kNone);
    return table;
}();

}  // namespace

UnknownFields::UnknownFields(onnx::Message message) : message_(std::move(message)) {
    const std::uint8_t* const origin = message_.key();
    message_.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (is_unknown(row)) found_.note(static_cast<std::uint64_t>(field.begin - origin));
    });
}

UnknownFields::UnknownFields(ByteView group) : UnknownFields(onnx::Message(kGroup, group)) {}

wire::Field UnknownFields::find(onnx::Message::Walk& walk) const {
    wire::Field field;
    while (walk.next(field)) {
        if (is_unknown(message_.known_row(field))) return field;
    }
    fail_changed();
}

wire::Field UnknownFields::at(std::uint64_t i) const {
    if (message_.edited()) {
        onnx::Message::Walk walk(message_);
        for (; i > 0; --i) find(walk);
        return find(walk);
    }
    const auto& checkpoint = found_.before(i);
    onnx::Message::Walk walk(message_, message_.key() + checkpoint.offset);
    for (std::uint64_t skip = i - checkpoint.ordinal; skip > 0; --skip) find(walk);
    return find(walk);
}

bool UnknownFields::Cursor::next(wire::Field& field) {
    if (left_ == 0) return false;
    --left_;
    field = fields_->find(walk_);
    return true;
}

}  // namespace onnxmap::model
