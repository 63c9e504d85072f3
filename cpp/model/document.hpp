// A loaded model (or tensor, or any message of the schema): its source, the index that the load
// pass made, and what was edited since. The source never changes, and what was derived from it is
// immutable, so threads may share the document. Every object handed out shares the document, and
// the arrays share its source.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/edits.hpp"
#include "model/field_index.hpp"
#include "model/followed_list.hpp"
#include "model/followed_uses.hpp"
#include "model/list_names.hpp"
#include "model/load_options.hpp"
#include "model/outer_scopes.hpp"
#include "model/saved_files.hpp"
#include "model/segment_groups.hpp"
#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/source.hpp"
#include "tensor/segments.hpp"
#include "tensor/store.hpp"

namespace onnxmap::model {

class Document {
  public:
    /// Walks over the structure and accepts exactly what protobuf accepts. Throws Error
    /// `wire.*`, `limit.*`, `file.changed`, and FileError.
    Document(std::shared_ptr<source::Source> source, LoadOptions options);

    [[nodiscard]] const source::Source& source() const noexcept { return *store_.source; }
    [[nodiscard]] const tensor::Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
    [[nodiscard]] onnx::Message root() const { return root_->message().current(); }
    /// Whether the root is a ModelProto; it may be a TensorProto, a SequenceProto and so on.
    [[nodiscard]] bool is_model() const noexcept {
        return &root_->message().table() == &onnx::message<"ModelProto">;
    }

    [[nodiscard]] const Edits& edits() const noexcept { return edits_; }
    /// Whether it was ever edited.
    [[nodiscard]] bool was_edited() const noexcept { return edits_.count() != 0; }
    /// For code that edits. A document is shared as an immutable object; its edits are not part of
    /// what was loaded.
    [[nodiscard]] Edits& editable() const noexcept { return edits_; }
    /// Keeps what is in a message that an edit added; see Edits::keep_alive(). Null for others.
    [[nodiscard]] std::shared_ptr<const void> keep_alive(const onnx::Message& message) const {
        if (!was_edited() || store_.holds(message.loaded())) return nullptr;
        return edits_.keep_alive(message);
    }
    /// Where the document was saved to. Not part of what was loaded, either.
    [[nodiscard]] SavedStates& saved() const noexcept { return saved_; }

    /// The source that holds these bytes of the document: the loaded one, or that of an edit.
    /// Throws Error `file.changed` if the edit that held them is gone.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const {
        return store_.source_of(bytes);
    }
    /// Ensures that bytes of the document, payload or not, stay in memory as long as it lives, and
    /// returns them.
    [[nodiscard]] ByteView resident(ByteView bytes) const {
        return store_.holds(bytes) ? source().resident(bytes) : source_of(bytes)->resident(bytes);
    }
    /// Bytes of the document that are about to be read below a guard of its source. `copy` takes
    /// what an edit added, which may be in another file.
    [[nodiscard]] ByteView readable(ByteView bytes, std::vector<std::uint8_t>& copy) const;
    /// Copies bytes of the document into `out`. Throws what Source::read throws.
    void read(ByteView bytes, std::span<std::uint8_t> out) const;

    /// Whether the document keeps an index for the fields of this message.
    [[nodiscard]] static bool is_large(const onnx::Message& message) noexcept;

    /// The index of a message of this document. It is made once if the message is large, and at
    /// each call otherwise.
    [[nodiscard]] std::shared_ptr<const FieldIndex> index(const onnx::Message& as_made) const;

    /// Value of a singular field. For large messages this is an index look-up, not a walk.
    [[nodiscard]] std::optional<wire::Field> find(const onnx::Message& message,
                                                  const wire::FieldRow& row) const;
    [[nodiscard]] std::optional<onnx::Message> child(const onnx::Message& message,
                                                     const wire::FieldRow& row) const;

    /// The messages of a repeated field by their naming_field(), which they must have. Like the
    /// index, it is made once if the message is large, and anew after any edit: ask a NamedList for
    /// one name.
    [[nodiscard]] std::shared_ptr<const ListNames> names(const onnx::Message& as_made,
                                                         const wire::FieldRow& row) const;

    /// Whether lists of this message are worth a followed index: large ones always are, smaller
    /// ones after the first edit.
    [[nodiscard]] bool is_followed(const onnx::Message& message) const noexcept;

    /// The names in a list of a message that follow its edits; `name`: a text field of the
    /// elements.
    [[nodiscard]] std::shared_ptr<FollowedNames> followed_names(const onnx::Message& message,
                                                                const wire::FieldRow& list,
                                                                const wire::FieldRow& name) const;
    /// The uses of the values of a graph or function that follow its edits.
    [[nodiscard]] std::shared_ptr<FollowedUses> followed_uses(const onnx::Message& body) const;

    /// The graph or function whose values a graph sees, and the node there that holds the graph:
    /// the one around a subgraph; the main graph, for an algorithm of training. Nothing for other
    /// graphs, and for those that were removed. The first call walks over all graphs of the
    /// document.
    [[nodiscard]] std::optional<OuterScope> outer_scope(const onnx::Message& graph) const;

    /// Checks whether the file has changed. Call it before an operation that reads much of the
    /// file. Pass the returned moment to Tensor::values(): each external file is then checked once,
    /// too.
    /// Throws Error `file.changed`.
    source::Timestamp check_for_changes() const;

    /// All segments of the tensor to which `tensor`, a TensorProto with a segment, belongs. The
    /// first call visits all tensors of the document. Throws Error `tensor.segment`,
    /// `model.duplicate_name`, `file.changed`.
    [[nodiscard]] tensor::Segments segments_of(const onnx::Message& tensor) const;

  private:
    // The address of a message, and one of its fields.
    using FieldKey = std::pair<const std::uint8_t*, const wire::FieldRow*>;

    // Forgets what was derived from messages that were edited since.
    void forget_edited() const;

    mutable Edits edits_;
    mutable SavedStates saved_;
    tensor::Store store_;
    std::string folder_;
    Limits limits_;
    std::shared_ptr<const FieldIndex> root_;
    mutable os::ForkSafeMutex mutex_;
    mutable std::unordered_map<const std::uint8_t*, std::shared_ptr<const FieldIndex>> indexes_;
    // The merged children of large messages: finding their pieces walks over the whole parent.
    mutable std::map<FieldKey, onnx::Message> merged_;
    mutable std::map<FieldKey, std::shared_ptr<const ListNames>> names_;  // of large messages
    // By the field that has the names.
    mutable std::map<std::pair<FieldKey, const wire::FieldRow*>, std::shared_ptr<FollowedNames>>
        followed_names_;
    mutable std::unordered_map<const std::uint8_t*, std::shared_ptr<FollowedUses>> followed_uses_;
    mutable std::shared_ptr<const OuterScopes> scopes_;
    mutable std::shared_ptr<const SegmentGroups> segments_;
    mutable std::uint64_t derived_at_ = 0;  // Edits::count() when names and segments were found
};

}  // namespace onnxmap::model
