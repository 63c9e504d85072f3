#include "fuzz/edit_steps.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "fuzz/read_everything.hpp"
#include "memory_source.hpp"
#include "model/flatten.hpp"
#include "onnx/schema.hpp"
#include "wire/writer.hpp"

namespace onnxmap::fuzz {

namespace {

constexpr std::size_t kMostHandles = 64;
constexpr std::size_t kMostDown = 8;

std::uint64_t count_values(const onnx::Message& message, const wire::FieldRow& row) {
    std::uint64_t count = 0;
    message.for_each_value(row, [&](const wire::Field&) { ++count; });
    return count;
}

}  // namespace

void EditSteps::step(std::uint64_t seed) {
    random_ = Random(seed);
    const Handle handle = choose();
    try {
        edit(handle);
    } catch (const Error& error) {
        // A copy of a message that edits made too deep.
        if (error.code == "limit.depth") return;
        require(error.code == "edit.removed" && document(handle).edits().is_removed(handle.message),
                error.code.c_str());
    }
}

EditSteps::Handle EditSteps::choose() {
    Handle handle;
    if (!handles_.empty() && random_.one_in(3)) {
        handle = random_.pick(handles_);
        handle.message = handle.message.current();
    } else {
        handle.document = random_.below(2);
        handle.message = document(handle).root();
    }
    for (std::size_t i = random_.below(kMostDown); i > 0 && descend(handle); --i) {}
    handle.life = document(handle).keep_alive(handle.message);
    if (handles_.size() < kMostHandles) {
        handles_.push_back(handle);
    } else {
        handles_[random_.below(kMostHandles)] = handle;
    }
    return handle;
}

// A message of that type, if a few attempts find one.
std::optional<EditSteps::Handle> EditSteps::choose_of(const wire::MessageTable& table) {
    for (int i = 0; i < 6; ++i) {
        Handle handle = choose();
        if (&handle.message.table() == &table) return handle;
    }
    return std::nullopt;
}

// Goes on to a message within a message. Makes it present if it is absent, now and then.
bool EditSteps::descend(Handle& handle) {
    const auto fields = handle.message.table().fields;
    std::size_t i = random_.below(fields.size());
    for (std::size_t tried = 0; tried < fields.size(); ++tried, i = (i + 1) % fields.size()) {
        const wire::FieldRow& row = fields[i];
        if (!row.is_message()) continue;
        if (row.repeated()) {
            const std::uint64_t there = count(handle, row);
            if (there == 0) continue;
            const auto position = random_.below(there);
            const auto index = document(handle).index(handle.message);
            handle.message = handle.message.inner(row, index->at(row, position));
            return true;
        }
        if (auto child = document(handle).child(handle.message, row)) {
            handle.message = *std::move(child);
            return true;
        }
        if (random_.one_in(16) && !document(handle).edits().is_removed(handle.message)) {
            handle.message = model::make_present(document(handle), handle.message, row);
            return true;
        }
    }
    return false;
}

bool EditSteps::affords(const Handle& original) {
    const std::uint64_t nbytes =
        16 + model::FlatMessage(document(original), original.message).nbytes();
    if (nbytes > left_) return false;
    left_ -= nbytes;
    return true;
}

const wire::FieldRow& EditSteps::choose_row(const wire::MessageTable& table) {
    return random_.pick(table.fields);
}

std::uint64_t EditSteps::number(const wire::FieldRow& row) {
    if (row.type == wire::Type::enumeration) {
        const auto& members = onnx::kSchema.enum_of(row).values;
        return static_cast<std::uint64_t>(std::int64_t{random_.pick(members).number});
    }
    constexpr std::uint64_t kNumbers[] = {0, 1, 2, 7, 127, 128, 1ULL << 32, 1ULL << 63, ~0ULL};
    return random_.one_in(4) ? random_.bits() : random_.pick(kNumbers);
}

model::NewValue EditSteps::value(const wire::FieldRow& row) {
    model::NewValue made;
    if (row.is_text()) {
        const std::vector<std::uint8_t> content(random_.one_in(8) ? 5000 : random_.below(20), 'v');
        if (row.type == wire::Type::bytes && random_.one_in(2)) {
            made.source = std::make_shared<test::MemorySource>(content);
            made.content = made.source->bytes();
            return made;
        }
        wire::write_head(made.encoded, row.number, content.size());
        made.encoded += as_text(content);
        return made;
    }
    const std::uint64_t chosen = number(row);
    wire::write_tag(made.encoded, row.number, row.wire_type());
    switch (row.wire_type()) {
        case wire::WireType::fixed32:
            wire::write_fixed<std::uint32_t>(made.encoded, static_cast<std::uint32_t>(chosen));
            break;
        case wire::WireType::fixed64: wire::write_fixed<std::uint64_t>(made.encoded, chosen); break;
        default: wire::write_varint(made.encoded, chosen);
    }
    return made;
}

// As the bindings encode them: a packed field is one run.
std::vector<model::NewValue> EditSteps::values(const wire::FieldRow& row) {
    std::vector<model::NewValue> made;
    for (std::size_t i = random_.below(4); i > 0; --i) made.push_back(value(row));
    if (!row.packed || made.empty() || random_.one_in(4)) return made;
    std::string run;
    for (const model::NewValue& each : made) {
        run += each.encoded.substr(wire::varint_nbytes(wire::tag_of(row.number, row.wire_type())));
    }
    model::NewValue whole;
    wire::write_head(whole.encoded, row.number, run.size());
    whole.encoded += run;
    return {whole};
}

void EditSteps::edit(const Handle& handle) {
    if (random_.one_in(40)) {
        model::clear_all(document(handle), handle.message);
        require(handle.message.current().nbytes() == 0, "a message that was cleared is not empty");
    } else if (random_.one_in(60)) {
        document(handle).editable().revert();
        require(!document(handle).edits().edited(), "a document has edits after it was reverted");
    } else if (random_.one_in(10)) {
        merge(handle);
    } else {
        edit_field(handle, choose_row(handle.message.table()));
    }
}

void EditSteps::edit_field(const Handle& handle, const wire::FieldRow& row) {
    if (random_.one_in(6)) {
        model::clear(document(handle), handle.message, row);
        require(!document(handle).find(handle.message.current(), row) || !row.oneof.empty(),
                "a field that was cleared is there");
        return;
    }
    if (row.is_message() && row.repeated()) {
        edit_list(handle, row);
    } else if (row.is_message()) {
        const onnx::Message child = model::make_present(document(handle), handle.message, row);
        const auto now = document(handle).child(handle.message.current(), row);
        require(now && now->key() == child.key(), "a message that was made present is elsewhere");
    } else if (row.repeated()) {
        edit_values(handle, row);
    } else {
        edit_value(handle, row);
    }
}

void EditSteps::edit_value(const Handle& handle, const wire::FieldRow& row) {
    const model::NewValue made = value(row);
    model::set_value(document(handle), handle.message, row, made);
    const auto found = document(handle).find(handle.message.current(), row);
    require(found.has_value(), "a field that was set is absent");
    if (made.source && !made.content.empty()) {
        require(found->bytes.data() == made.content.data() &&
                    found->bytes.size() == made.content.size(),
                "a field has other content than was given");
    } else if (!made.source) {
        require(as_text({found->begin, found->end}) == made.encoded,
                "a field has another value than was given");
    }
    require(row.oneof.empty() || handle.message.current().which(row.oneof) == &row,
            "a member of a oneof that was set is not set");
}

void EditSteps::edit_values(const Handle& handle, const wire::FieldRow& row) {
    const std::vector<model::NewValue> made = values(row);
    const std::uint64_t before = count_values(handle.message, row);
    const std::uint64_t fields = count(handle, row);
    const auto after = [&] { return count_values(handle.message.current(), row); };
    const std::size_t way = random_.below(row.is_text() ? 3 : 2);
    if (way == 0) {
        model::set_values(document(handle), handle.message, row, made);
        require(count(handle, row) == made.size(), "a list has another length than was given");
    } else if (way == 1) {
        model::append_values(document(handle), handle.message, row, made);
        require(after() >= before + made.size(), "a list that grew lost values");
    } else {
        const std::uint64_t first = random_.below(fields + 1);
        const std::uint64_t gone = random_.below(fields - first + 1);
        model::splice_values(document(handle), handle.message, row, first, gone, made);
        require(after() == before - gone + made.size(), "a splice left another number of values");
    }
}

void EditSteps::edit_list(const Handle& handle, const wire::FieldRow& row) {
    switch (random_.below(4)) {
        case 0: erase(handle, row); break;
        case 1: reorder(handle, row); break;
        default: insert(handle, row);
    }
}

void EditSteps::insert(const Handle& handle, const wire::FieldRow& row) {
    std::optional<model::Original> original;
    if (!random_.one_in(3)) {
        const auto found = choose_of(onnx::kSchema.message_of(row));
        if (found && affords(*found))
            original.emplace(model::Original{document(*found), found->message});
    }
    const onnx::Message parent = handle.message.current();
    const std::uint64_t before = document(handle).index(parent)->count(row);
    const std::uint64_t at = random_.below(before + 2);
    const onnx::Message added = model::insert(document(handle), parent, row, at, original);
    const auto index = document(handle).index(parent.current());
    require(index->count(row) == before + 1, "an insertion did not add one message");
    require(index->at(row, std::min(at, before)).bytes.data() == added.key(),
            "an inserted message is elsewhere");
}

void EditSteps::erase(const Handle& handle, const wire::FieldRow& row) {
    const std::uint64_t before = count(handle, row);
    std::vector<std::uint64_t> positions;
    const std::size_t one_in = 1 + random_.below(8);
    for (std::uint64_t i = 0; i < before; ++i) {
        if (random_.one_in(one_in)) positions.push_back(i);
    }
    model::erase(document(handle), handle.message, row, positions);
    require(count(handle, row) == before - positions.size(), "erasing left another number");
}

void EditSteps::reorder(const Handle& handle, const wire::FieldRow& row) {
    std::vector<std::uint64_t> order(count(handle, row));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random_.below(i)]);
    }
    const auto before = document(handle).index(handle.message);
    model::reorder(document(handle), handle.message, row, order);
    const auto after = document(handle).index(handle.message);
    require(after->count(row) == order.size(), "a new order has another number of messages");
    for (std::size_t i = 0; i < order.size(); i += 1 + order.size() / 16) {
        require(after->at(row, i).begin == before->at(row, order[i]).begin,
                "a new order is another one");
    }
}

void EditSteps::merge(const Handle& handle) {
    const auto from = choose_of(handle.message.table());
    if (!from || !affords(*from)) return;
    model::merge_from(document(handle), handle.message.current(), {document(*from), from->message});
    if (!random_.one_in(4)) return;
    model::discard_unknown(document(handle), handle.message.current());
    handle.message.current().for_each_field([](const wire::Field&, const wire::FieldRow* row) {
        require(row != nullptr && !row->retired, "an unknown field that was discarded is there");
    });
}

}  // namespace onnxmap::fuzz
