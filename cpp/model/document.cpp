#include "model/document.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/node.hpp"
#include "model/tensor_path.hpp"
#include "source/read_guard.hpp"
#include "wire/structure_pass.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::message;

namespace {

// Bytes. For a smaller message an index is made for each access and not kept: the walk takes some
// 20 microseconds, and a kept index would need more memory than the message.
constexpr std::uint64_t kLarge = 32 << 10;
// A walk over a smaller message takes some microseconds, as long as to follow its edits.
constexpr std::uint64_t kFollowed = 2 << 10;

onnx::Message message_of(const wire::MessageTable& table, const std::uint8_t* origin,
                         const std::vector<wire::Span>& spans, const Edits& edits) {
    std::vector<ByteView> pieces;
    pieces.reserve(spans.size());
    for (const wire::Span& span : spans) pieces.emplace_back(origin + span.offset, span.size);
    return {table, std::move(pieces), &edits};
}

}  // namespace

Document::Document(std::shared_ptr<source::Source> source, LoadOptions options)
    : store_{source,
             tensor::ExternalFiles(std::move(options.external)),
             options.limits.external_entries,
             options.limits.overlap,
             {},
             options.watch,
             [this](ByteView bytes) { return edits_.source_of(bytes); }},
      folder_(options.folder),
      limits_(options.limits) {
    if (options.tolerate) {
        store_.tolerate = [this, tell = options.tolerate](const Error& fault,
                                                          const tensor::Header& header) {
            tell(with_tensor_path(fault, *this, header.begin));
        };
    }
    const bool is_model = options.is_model();
    wire::PassOptions pass;
    pass.max_depth = options.limits.depth;
    pass.scan_packed = options.scan_packed;
    pass.indexed_child = is_model ? &field<"ModelProto.graph"> : nullptr;
    pass.payload_message = &message<"TensorProto">;
    pass.payload_fields = tensor::kPayloadFields;
    pass.max_payload_messages = options.limits.tensors;
    pass.max_pieces = options.limits.pieces;
    auto structure = wire::read_structure(*source->feed(), onnx::kSchema, *options.root, pass);

    static_cast<void>(check_for_changes());

    const std::uint8_t* origin = source->data();
    root_ =
        std::make_shared<const FieldIndex>(onnx::Message(*options.root, source->bytes(), &edits_),
                                           origin, std::move(structure.fields));
    if (is_model && !structure.child_parts.empty()) {
        auto graph = message_of(message<"GraphProto">, origin, structure.child_parts, edits_);
        const std::uint8_t* key = graph.key();
        if (graph.pieces()) {
            merged_.emplace(FieldKey(root_->message().key(), pass.indexed_child), graph);
        }
        indexes_.emplace(key, std::make_shared<const FieldIndex>(std::move(graph), origin,
                                                                 std::move(structure.child)));
    }
}

bool Document::is_large(const onnx::Message& message) noexcept {
    return message.nbytes() >= kLarge;
}

bool Document::is_followed(const onnx::Message& message) const noexcept {
    return message.nbytes() >= (was_edited() ? kFollowed : kLarge);
}

void Document::read(ByteView bytes, std::span<std::uint8_t> out) const {
    if (bytes.empty()) return;
    const auto from = source_of(bytes);
    from->read(from->offset_of(bytes), out);
}

ByteView Document::readable(ByteView bytes, std::vector<std::uint8_t>& copy) const {
    if (store_.holds(bytes)) return source().resident(bytes);
    copy.resize(bytes.size());
    read(bytes, copy);
    return copy;
}

void Document::forget_edited() const {
    const std::uint64_t count = edits_.count();
    if (derived_at_ == count) return;
    names_.clear();
    segments_.reset();
    derived_at_ = count;
}

std::shared_ptr<const FieldIndex> Document::index(const onnx::Message& as_made) const {
    const onnx::Message message = as_made.current();
    const std::uint8_t* const key = message.key();
    // Its occurrences are in file order, so no field begins before the first one.
    if (message.edited() || !is_large(message)) {
        return std::make_shared<const FieldIndex>(message, key);
    }
    if (&message.table() == &root_->message().table() && key == source().data()) return root_;
    {
        const std::lock_guard lock(mutex_);
        const auto known = indexes_.find(key);
        if (known != indexes_.end() && &known->second->message().table() == &message.table() &&
            known->second->message().nbytes() == message.nbytes()) {
            return known->second;
        }
    }
    // The guard throws if the file lost bytes during the walk. An index made of lost bytes is
    // therefore never kept.
    auto made = source::guard_reads(
        *store_.source, [&] { return std::make_shared<const FieldIndex>(message, key); });
    const std::lock_guard lock(mutex_);
    return indexes_.insert_or_assign(key, std::move(made)).first->second;
}

std::optional<wire::Field> Document::find(const onnx::Message& message,
                                          const wire::FieldRow& row) const {
    if (message.edited() || !is_large(message) || !row.oneof.empty()) return message.find(row);
    return index(message)->last(row);
}

std::optional<onnx::Message> Document::child(const onnx::Message& message,
                                             const wire::FieldRow& row) const {
    if (message.edited() || !is_large(message) || !row.oneof.empty()) return message.child(row);
    const auto fields = index(message);
    const std::uint64_t count = fields->count(row);
    if (count == 0) return std::nullopt;
    if (count == 1) return message.inner(row, *fields->last(row));
    const FieldKey key(message.key(), &row);
    {
        const std::lock_guard lock(mutex_);
        const auto known = merged_.find(key);
        if (known != merged_.end()) return known->second.current();
    }
    auto merged = source::guard_reads(*store_.source, [&] {
        std::vector<ByteView> pieces;
        pieces.reserve(count);
        fields->for_each(row, [&](const wire::Field& piece) {
            if (!piece.bytes.empty()) pieces.push_back(piece.bytes);
        });
        if (pieces.empty()) return message.inner(row, *fields->last(row));
        return onnx::Message(onnx::kSchema.message_of(row), std::move(pieces), &edits_);
    });
    const std::lock_guard lock(mutex_);
    return merged_.try_emplace(key, std::move(merged)).first->second;
}

std::shared_ptr<const ListNames> Document::names(const onnx::Message& as_made,
                                                 const wire::FieldRow& row) const {
    const onnx::Message message = as_made.current();
    const FieldKey key(message.key(), &row);
    const std::uint64_t started_at = edits_.count();
    if (is_large(message)) {
        const std::lock_guard lock(mutex_);
        forget_edited();
        const auto known = names_.find(key);
        if (known != names_.end()) return known->second;
    }
    auto made = source::guard_reads(*store_.source, [&] {
        return std::make_shared<const ListNames>(names_in_list(*index(message), row));
    });
    if (!is_large(message)) return made;
    const std::lock_guard lock(mutex_);
    forget_edited();
    if (derived_at_ == started_at) names_[key] = made;  // not of the state before an edit
    return made;
}

std::shared_ptr<FollowedNames> Document::followed_names(const onnx::Message& message,
                                                        const wire::FieldRow& list,
                                                        const wire::FieldRow& name) const {
    const std::lock_guard lock(mutex_);
    auto& followed = followed_names_[{{message.key(), &list}, &name}];
    if (!followed) followed = std::make_shared<FollowedNames>(*this, message, list, name);
    return followed;
}

std::shared_ptr<FollowedUses> Document::followed_uses(const onnx::Message& body) const {
    const std::lock_guard lock(mutex_);
    auto& followed = followed_uses_[body.key()];
    if (!followed) followed = std::make_shared<FollowedUses>(*this, body);
    return followed;
}

std::optional<OuterScope> Document::outer_scope(const onnx::Message& graph) const {
    if (is_function(graph) || graph.key() == nullptr || edits_.is_removed(graph))
        return std::nullopt;
    std::shared_ptr<const OuterScopes> scopes;
    {
        const std::lock_guard lock(mutex_);
        scopes = scopes_;
    }
    // A graph never moves into another one, so what is known of it stays right.
    if (scopes && scopes->knows(graph, edits_.count())) return scopes->around(graph);
    if (is_model()) {  // nothing is around the main graph: no walk is needed
        const auto main = child(root(), field<"ModelProto.graph">);
        if (main && main->key() == graph.key()) return std::nullopt;
    }
    scopes = source::guard_reads(*store_.source,
                                 [&] { return std::make_shared<const OuterScopes>(*this); });
    const std::lock_guard lock(mutex_);
    scopes_ = scopes;
    return scopes->around(graph);
}

source::Timestamp Document::check_for_changes() const {
    const source::Timestamp started = source::now();
    store_.check_unchanged(*store_.source, started);
    return started;
}

tensor::Segments Document::segments_of(const onnx::Message& tensor) const {
    std::shared_ptr<const SegmentGroups> groups;
    const std::uint64_t started_at = edits_.count();
    {
        const std::lock_guard lock(mutex_);
        forget_edited();
        groups = segments_;
    }
    if (!groups) {
        groups = source::guard_reads(*store_.source, [&] {
            return std::make_shared<const SegmentGroups>(root(), limits_.depth);
        });
        const std::lock_guard lock(mutex_);
        forget_edited();
        if (!segments_ && derived_at_ == started_at) segments_ = groups;
    }
    return groups->whole(tensor);
}

}  // namespace onnxmap::model
