// A message as the bytes that a save writes: ranges of what was loaded, what edits added, and new
// lengths of the messages around an edit. What no edit touched is passed on as it is, in as large
// ranges as possible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/bytes.hpp"
#include "model/document.hpp"
#include "model/edits.hpp"
#include "model/structure_pages.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// Takes the bytes of a message in order.
class ByteSink {
  public:
    virtual ~ByteSink() = default;
    /// Bytes of the document, or of the edits that FlatMessage was given.
    virtual void take(ByteView bytes) = 0;
    /// A few bytes that are valid during the call: a tag and a length.
    virtual void take_new(ByteView bytes) = 0;
};

/// How raw_data is placed in the bytes that are written.
struct Alignment {
    std::uint64_t of_raw_data = 1;   // each raw_data begins at a multiple of this
    std::uint64_t least_nbytes = 1;  // shorter ones are not aligned
};

/// The edits of a document at one moment, for one message and what is below it. Later edits do not
/// change what it writes.
class FlatMessage final : private onnx::Changes {
  public:
    /// A message that has no edit is not walked over. Throws Error `limit.depth` if edits nested
    /// messages too deeply, and Error `save.too_large` if no file can be as large.
    FlatMessage(const Document& document, const onnx::Message& message);

    /// The message with these edits instead of the document's own. If raw_data is to be aligned,
    /// each TensorProto that has some gets its data_type in front of it, repeated and with an
    /// over-long value, as padding.
    FlatMessage(const Document& document, const onnx::Message& message, EditedFields edits,
                Alignment alignment);

    FlatMessage(const FlatMessage&) = delete;
    FlatMessage& operator=(const FlatMessage&) = delete;
    ~FlatMessage() = default;

    /// Bytes that write() passes on.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// Passes on nbytes() bytes. Throws Error `file.changed` if the message has another size now.
    void write(ByteSink& sink) const;

  private:
    class Writer;
    struct Size {
        std::uint64_t nbytes = 0;
        std::uint64_t length_nbytes = 0;  // of the varint in front of the message
        std::uint64_t padding = 0;        // bytes in front of raw_data that a tensor would not need
    };

    [[nodiscard]] std::shared_ptr<const onnx::Pieces> find(const std::uint8_t* key) const override;
    [[nodiscard]] bool is_added(const std::uint8_t* key) const override;

    [[nodiscard]] bool has_edit(const onnx::Message& message) const;
    // The raw_data of a tensor, if it is aligned.
    [[nodiscard]] std::optional<wire::Field> aligned_raw_data(const onnx::Message& message) const;
    // Whether a message is written anew: it has an edit, or raw_data that is aligned.
    [[nodiscard]] bool is_rewritten(const onnx::Message& message, const wire::FieldRow& row) const;
    template <class Plain, class Inner>
    void for_each_part(const onnx::Message& message, bool is_aligned, Plain&& plain,
                       Inner&& inner) const;

    void check_depth(const onnx::Message& message, const wire::FieldRow* row,
                     const wire::Field& field, std::uint32_t depth_left) const;

    // Bytes of a message whose content begins at `position`.
    std::uint64_t measure(const onnx::Message& message, std::uint64_t position,
                          std::uint32_t depth_left);
    // Bytes of a field with a message, whose tag begins at `position`.
    std::uint64_t measure_field(const wire::Field& field, const onnx::Message& message,
                                std::uint64_t position, std::uint32_t depth_left);
    void write(const onnx::Message& message, Writer& writer) const;
    void write_field(const wire::Field& field, const onnx::Message& message, Writer& writer) const;

    EditedFields edits_;
    Alignment alignment_;
    const Document& document_;
    mutable StructurePages pages_;
    onnx::Message message_;
    std::uint64_t nbytes_;
    std::unordered_map<const std::uint8_t*, Size> sizes_;  // of messages that are written anew
};

}  // namespace onnxmap::model
