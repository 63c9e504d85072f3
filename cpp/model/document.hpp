// A loaded model (or tensor, or any message of the schema): its source, and the index that the
// load pass made of it. Immutable once built, so threads may share it. Everything handed out
// holds the document, and the arrays hold its source.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/source.hpp"
#include "model/field_index.hpp"
#include "onnx/message.hpp"
#include "tensor/payload.hpp"
#include "wire/tag.hpp"

namespace onnxmap::model {

struct Limits {
    std::uint64_t tensors = 1'000'000;
    std::uint64_t pieces = 100'000;
    std::uint32_t depth = wire::kDefaultDepth;
    std::uint64_t external_entries = 64;
};

struct LoadOptions {
    const wire::MessageTable* root = nullptr;  // the message that the bytes hold
    bool scan_packed = true;    // check="full"; without it typed payloads are judged when read
    std::string external_root;  // absolute; empty: none
    io::IoMode external_io = io::IoMode::automatic;
    Limits limits;
};

class Document {
  public:
    /// Walks over the structure and gives protobuf's verdict on it. Throws Error `wire.*`,
    /// `limit.*`, `file.changed`, and FileError.
    Document(std::shared_ptr<io::Source> source, const LoadOptions& options);

    [[nodiscard]] const io::Source& source() const noexcept { return *store_.source; }
    [[nodiscard]] const tensor::Store& store() const noexcept { return store_; }
    /// How deep messages were nested at most when the document was loaded.
    [[nodiscard]] std::uint32_t max_depth() const noexcept { return max_depth_; }
    [[nodiscard]] const onnx::Message& root() const noexcept { return root_->message(); }

    /// Whether field access of this message goes through an index that is kept.
    [[nodiscard]] static bool is_large(const onnx::Message& message) noexcept;

    /// The index of a message of this document; made once where the message is large.
    [[nodiscard]] std::shared_ptr<const FieldIndex> index(const onnx::Message& message) const;

    /// Value of a singular field, in the time of a look-up for large messages.
    [[nodiscard]] std::optional<wire::Field> find(const onnx::Message& message,
                                                  const wire::FieldRow& row) const;
    [[nodiscard]] std::optional<onnx::Message> child(const onnx::Message& message,
                                                     const wire::FieldRow& row) const;

  private:
    tensor::Store store_;
    std::uint32_t max_depth_;
    std::shared_ptr<const FieldIndex> root_;
    mutable std::mutex mutex_;
    mutable std::unordered_map<const std::uint8_t*, std::shared_ptr<const FieldIndex>> indexes_;
};

/// What a file that is no ONNX model looks like ("a Git LFS pointer"), or empty.
[[nodiscard]] std::string_view recognize(ByteView head) noexcept;

}  // namespace onnxmap::model
