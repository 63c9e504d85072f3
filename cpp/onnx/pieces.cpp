#include "onnx/pieces.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "wire/varint.hpp"

namespace onnxmap::onnx {

namespace {

static_assert(std::ranges::all_of(detail::kTables, [](const wire::MessageTable& table) {
    return table.fields.size() <= std::numeric_limits<Pieces::Rows>::digits;
}));

// Fields of a chunk before it is split. An edit copies one chunk and the list of chunks: 8 kB each
// for 200 000 nodes.
constexpr std::size_t kMostFields = 512;

// A field whose content is elsewhere. No other field follows it in memory: it ends where it begins.
wire::Field held_field(ByteView head, ByteView content) noexcept {
    wire::Field field;
    const wire::Varint tag = wire::read_varint(head.data(), head.data() + head.size());
    field.number = static_cast<std::uint32_t>(tag.value >> 3);
    field.type = wire::WireType::length_delimited;
    field.bytes = content;
    field.begin = field.end = head.data();
    return field;
}

}  // namespace

void fail_edited_meanwhile() {
    throw Error("edit.concurrent",
                "another thread edited the message while this one read it; read it again, and use "
                "a lock so that no thread edits a model while others read it");
}

const HeldContent* Pieces::Chunk::content_of(std::size_t index) const noexcept {
    const auto found = std::ranges::lower_bound(held, index, {}, &Held::index);
    return found == held.end() || found->index != index ? nullptr : &found->content;
}

const std::vector<std::uint16_t>& Pieces::Chunk::in_order() const {
    static_assert(kMostFields <= UINT16_MAX);
    return by_address.get([&] {
        auto order = std::make_unique<std::vector<std::uint16_t>>(pieces.size());
        std::iota(order->begin(), order->end(), std::uint16_t{0});
        const auto address = [&](std::uint16_t i) { return pieces[i].data(); };
        if (!std::ranges::is_sorted(*order, std::less<>(), address)) {  // nearly all are
            std::ranges::sort(*order, std::less<>(), address);
        }
        return std::unique_ptr<const std::vector<std::uint16_t>>(std::move(order));
    });
}

void Pieces::Chunk::add(ByteView piece, std::uint8_t row, const HeldContent* content) {
    nbytes += piece.size();
    if (content != nullptr) {
        held.push_back({pieces.size(), *content});
        nbytes += content->bytes.size();
    }
    pieces.push_back(piece);
    rows.push_back(row);
    if (row != wire::MessageTable::kNone) ++counts[row];
}

Pieces::Builder::Builder(const wire::MessageTable& table, std::shared_ptr<const Pieces> merged) {
    made_.table_ = &table;
    made_.merged_ = std::move(merged);
}

void Pieces::Builder::add(ByteView piece, std::uint8_t row, const HeldContent* content) {
    if (open_ && open_->pieces.size() >= kMostFields) close();
    if (!open_) {
        open_ = std::make_shared<Chunk>();
        open_->counts.resize(made_.table_->fields.size());
        if (!made_.chunks_.empty()) {  // there are many, so this one will be full, too
            open_->pieces.reserve(kMostFields);
            open_->rows.reserve(kMostFields);
        }
    }
    open_->add(piece, row, content);
}

void Pieces::Builder::add_from(const Chunk& chunk, std::size_t index) {
    add(chunk.pieces[index], chunk.rows[index], chunk.content_of(index));
}

void Pieces::Builder::close() {
    if (open_) push(std::exchange(open_, nullptr));
}

void Pieces::Builder::share(const std::shared_ptr<const Chunk>& chunk) {
    close();
    push(chunk);
}

void Pieces::Builder::push(std::shared_ptr<const Chunk> chunk) {
    made_.nbytes_ += chunk->nbytes;
    // Two small neighbours become one chunk: erasing does not leave many small ones.
    if (!made_.chunks_.empty() &&
        made_.chunks_.back()->pieces.size() + chunk->pieces.size() <= kMostFields / 2) {
        auto joined = std::make_shared<Chunk>();
        joined->counts.resize(made_.table_->fields.size());
        for (const auto& part : {made_.chunks_.back(), chunk}) {
            for (std::size_t i = 0; i < part->pieces.size(); ++i) joined->add_from(*part, i);
        }
        made_.chunks_.back() = std::move(joined);
        return;
    }
    made_.chunks_.push_back(std::move(chunk));
}

std::shared_ptr<const Pieces> Pieces::Builder::finish() && {
    close();
    return std::make_shared<const Pieces>(std::move(made_));
}

Pieces::Pieces(std::vector<ByteView> occurrences) {
    auto chunk = std::make_shared<Chunk>();
    for (const ByteView& occurrence : occurrences) nbytes_ += occurrence.size();
    chunk->pieces = std::move(occurrences);
    chunks_.push_back(std::move(chunk));
}

Pieces::Walk::Walk(const Pieces& pieces, const std::uint8_t* begin) noexcept : pieces_(&pieces) {
    // The last occurrence that begins at or before `begin`: occurrences are in file order.
    const auto occurrences = pieces.occurrences();
    std::size_t low = 0;
    for (std::size_t high = occurrences.size(); high - low > 1;) {
        const std::size_t middle = low + (high - low) / 2;
        (occurrences[middle].data() <= begin ? low : high) = middle;
    }
    reader_ = wire::Reader(begin, occurrences[low].data() + occurrences[low].size());
    place_.index = low + 1;
}

Pieces::Walk::Next Pieces::Walk::next_piece(wire::Field& field) noexcept {
    while (place_.chunk < pieces_->chunks_.size()) {
        const Chunk& chunk = *pieces_->chunks_[place_.chunk];
        if (place_.index == chunk.pieces.size()) {
            place_ = {place_.chunk + 1, 0};
            continue;
        }
        const std::size_t index = place_.index++;
        const ByteView piece = chunk.pieces[index];
        if (!chunk.held.empty()) {
            if (const HeldContent* content = chunk.content_of(index)) {
                field = held_field(piece, content->bytes);
                return Next::field;
            }
        }
        reader_ = wire::Reader(piece);
        return Next::bytes;
    }
    return Next::none;
}

std::uint64_t Pieces::count(const wire::FieldRow& row) const noexcept {
    std::uint64_t sum = 0;
    for (const auto& chunk : chunks_) sum += chunk->counts[position(row)];
    return sum;
}

Pieces::Place Pieces::find(const wire::FieldRow& row, std::uint64_t i) const {
    const std::uint8_t wanted = position(row);
    Place place;
    while (place.chunk < chunks_.size() && chunks_[place.chunk]->counts[wanted] <= i) {
        i -= chunks_[place.chunk++]->counts[wanted];
    }
    if (place.chunk == chunks_.size()) fail_edited_meanwhile();
    const std::vector<std::uint8_t>& rows = chunks_[place.chunk]->rows;
    while (rows[place.index] != wanted || i-- > 0) ++place.index;
    return place;
}

std::optional<Pieces::Place> Pieces::find_from(const wire::FieldRow& row,
                                               Place place) const noexcept {
    const std::uint8_t wanted = position(row);
    for (; place.chunk < chunks_.size(); place = {place.chunk + 1, 0}) {
        const Chunk& chunk = *chunks_[place.chunk];
        if (chunk.counts[wanted] == 0) continue;
        const auto begin = chunk.rows.begin() + static_cast<std::ptrdiff_t>(place.index);
        const auto found = std::find(begin, chunk.rows.end(), wanted);
        if (found == chunk.rows.end()) continue;
        return Place{place.chunk, static_cast<std::size_t>(found - chunk.rows.begin())};
    }
    return std::nullopt;
}

std::optional<Pieces::Place> Pieces::find_last(const wire::FieldRow& row) const noexcept {
    const std::uint8_t wanted = position(row);
    for (std::size_t i = chunks_.size(); i-- > 0;) {
        const Chunk& chunk = *chunks_[i];
        if (chunk.counts[wanted] == 0) continue;
        const auto found = std::find(chunk.rows.rbegin(), chunk.rows.rend(), wanted);
        return Place{i, static_cast<std::size_t>(chunk.rows.rend() - found) - 1};
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Pieces::ordinal(const wire::FieldRow& row,
                                             const std::uint8_t* key) const {
    const std::uint8_t wanted = position(row);
    std::uint64_t before = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const Chunk& chunk = *chunks_[c];
        if (chunk.counts[wanted] == 0) continue;
        const auto& order = chunk.in_order();
        // The content begins behind the beginning of its piece, and may be empty at the end.
        const auto behind = std::ranges::lower_bound(
            order, key, std::less<>(), [&](std::uint16_t i) { return chunk.pieces[i].data(); });
        if (behind != order.begin()) {
            const std::uint16_t index = *std::prev(behind);
            const ByteView piece = chunk.pieces[index];
            if (chunk.rows[index] == wanted && key <= piece.data() + piece.size() &&
                field_at({c, index}).bytes.data() == key) {
                const auto end = chunk.rows.begin() + index;
                return before +
                       static_cast<std::uint64_t>(std::count(chunk.rows.begin(), end, wanted));
            }
        }
        before += chunk.counts[wanted];
    }
    return std::nullopt;
}

wire::Field Pieces::field_at(Place place) const {
    wire::Field field;
    Walk walk(*this, place);
    walk.next(field);
    return field;
}

EncodedField Pieces::encoded_at(Place place) const {
    const Chunk& chunk = *chunks_[place.chunk];
    const ByteView piece = chunk.pieces[place.index];
    const std::uint8_t row = chunk.rows[place.index];
    EncodedField field{piece, row == wire::MessageTable::kNone ? nullptr : &table_->fields[row]};
    if (const HeldContent* content = chunk.content_of(place.index)) field.content = *content;
    return field;
}

std::shared_ptr<const Pieces> Pieces::replace(Rows removed, std::optional<Place> place,
                                              std::span<const EncodedField> added) const {
    if (!place && !chunks_.empty()) {
        place = Place{chunks_.size() - 1, chunks_.back()->pieces.size()};
    }
    Builder builder(*table_, merged_);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const Chunk& chunk = *chunks_[c];
        bool changes = place->chunk == c && !added.empty();
        for (std::size_t row = 0; row < chunk.counts.size() && !changes; ++row) {
            changes = (removed >> row & 1) != 0 && chunk.counts[row] > 0;
        }
        if (!changes) {
            builder.share(chunks_[c]);
            continue;
        }
        builder.close();
        const std::size_t count = chunk.pieces.size();
        for (std::size_t i = 0; i <= count; ++i) {
            if (place == Place{c, i}) builder.add(added);
            if (i == count) break;
            const std::uint8_t row = chunk.rows[i];
            const bool stays = row == wire::MessageTable::kNone || (removed >> row & 1) == 0;
            if (stays) builder.add_from(chunk, i);
            // A full chunk becomes two halves, so that the next insertion does not split it again.
            if (count >= kMostFields && i == count / 2) builder.close();
        }
        builder.close();
    }
    if (chunks_.empty()) builder.add(added);
    return std::move(builder).finish();
}

std::shared_ptr<const Pieces> Pieces::known() const {
    Builder builder(*table_, merged_);
    for (const auto& shared : chunks_) {
        for (std::size_t i = 0; i < shared->pieces.size(); ++i) {
            if (shared->rows[i] != wire::MessageTable::kNone) builder.add_from(*shared, i);
        }
        builder.close();
    }
    return std::move(builder).finish();
}

std::shared_ptr<const Pieces> Pieces::erase(const wire::FieldRow& row,
                                            std::span<const std::uint64_t> ordinals,
                                            std::vector<Place>* gone) const {
    const std::uint8_t wanted = position(row);
    Builder builder(*table_, merged_);
    std::uint64_t ordinal = 0;
    auto next = ordinals.begin();
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const Chunk& chunk = *chunks_[c];
        const std::uint64_t end = ordinal + chunk.counts[wanted];
        if (next == ordinals.end() || *next >= end) {
            builder.share(chunks_[c]);
            ordinal = end;
            continue;
        }
        builder.close();
        for (std::size_t i = 0; i < chunk.pieces.size(); ++i) {
            if (chunk.rows[i] == wanted) {
                const bool goes = next != ordinals.end() && *next == ordinal;
                ++ordinal;
                if (goes) {
                    ++next;
                    if (gone != nullptr) gone->push_back({c, i});
                    continue;
                }
            }
            builder.add_from(chunk, i);
        }
        builder.close();
    }
    if (next != ordinals.end()) fail_edited_meanwhile();
    return std::move(builder).finish();
}

}  // namespace onnxmap::onnx
