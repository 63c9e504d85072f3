// A loaded model (or tensor, or any message of the schema): its source, and the index that the load
// pass made. Immutable once built, so threads may share it. Every object handed out shares the
// document, and the arrays share its source.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/made_once.hpp"
#include "model/field_index.hpp"
#include "model/segment_groups.hpp"
#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/source.hpp"
#include "tensor/payload.hpp"
#include "tensor/values.hpp"
#include "wire/tag.hpp"

namespace onnxmap::model {

struct Limits {
    std::uint64_t tensors = 1'000'000;
    std::uint64_t pieces = 100'000;
    std::uint32_t depth = wire::kDefaultDepth;
    std::uint64_t external_entries = 64;
    std::uint64_t dense_bytes = 1 << 30;  // of a sparse tensor when dense
    std::uint64_t text_bytes = 1 << 30;   // of a message as text
    std::uint64_t overlap = 16;  // bytes of copies, as a multiple of the bytes of the files
};

struct LoadOptions {
    const wire::MessageTable* root = nullptr;  // the message that the bytes hold
    bool scan_packed = true;  // check="full"; otherwise typed payloads are validated when read
    bool watch = true;        // notice files that change
    std::string folder;       // of the file, absolute; empty: it is a buffer
    tensor::ExternalPlace external;
    Limits limits;
    /// If set: tensors with faults that onnx overlooks are read, and this function is called with
    /// each fault.
    std::function<void(const Error&)> overlook;

    [[nodiscard]] bool is_model() const noexcept { return root == &onnx::message<"ModelProto">; }
};

class Document {
  public:
    /// Walks over the structure and accepts exactly what protobuf accepts. Throws Error
    /// `wire.*`, `limit.*`, `file.changed`, and FileError.
    Document(std::shared_ptr<source::Source> source, LoadOptions options);

    [[nodiscard]] const source::Source& source() const noexcept { return *store_.source; }
    [[nodiscard]] const tensor::Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
    [[nodiscard]] const onnx::Message& root() const noexcept { return root_->message(); }

    /// Whether the document keeps an index for the fields of this message.
    [[nodiscard]] static bool is_large(const onnx::Message& message) noexcept;

    /// The index of a message of this document. It is made once if the message is large, and at
    /// each call otherwise.
    [[nodiscard]] std::shared_ptr<const FieldIndex> index(const onnx::Message& message) const;

    /// Value of a singular field. For large messages this is an index look-up, not a walk.
    [[nodiscard]] std::optional<wire::Field> find(const onnx::Message& message,
                                                  const wire::FieldRow& row) const;
    [[nodiscard]] std::optional<onnx::Message> child(const onnx::Message& message,
                                                     const wire::FieldRow& row) const;

    /// Checks whether the file has changed. Call it before an operation that reads much of the
    /// file. Pass the returned moment to values(): each external file is then checked once, too.
    /// Throws Error `file.changed`.
    source::Moment look_for_changes() const;

    /// The values of a TensorProto of this document. If the TensorProto is one segment of several,
    /// the values of the whole tensor. Files that were last checked before `since` are checked
    /// again; the default is source::kRecently. Throws Error `tensor.*`, `ext.*`, `file.changed`.
    [[nodiscard]] tensor::Values values(const onnx::Message& tensor) const;
    [[nodiscard]] tensor::Values values(const onnx::Message& tensor, const tensor::Header& header,
                                        std::optional<source::Moment> since = std::nullopt) const;

  private:
    // The address of the parent, and the field that occurs in it more than once.
    using MergedKey = std::pair<const std::uint8_t*, const wire::FieldRow*>;

    tensor::Store store_;
    std::string folder_;
    Limits limits_;
    std::shared_ptr<const FieldIndex> root_;
    mutable os::ForkSafeMutex mutex_;
    mutable std::unordered_map<const std::uint8_t*, std::shared_ptr<const FieldIndex>> indexes_;
    // The merged children of large messages: finding their pieces walks over the whole parent.
    mutable std::map<MergedKey, onnx::Message> merged_;
    mutable MadeOnce<SegmentGroups> segments_;
};

/// The format of a file that is not an ONNX model, for an error text ("a Git LFS pointer"), or
/// empty.
[[nodiscard]] std::string_view recognize(ByteView head) noexcept;

}  // namespace onnxmap::model
