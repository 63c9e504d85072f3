// The changes that a save makes to tensors: from inline to external data and back. They are edits
// of the message that is written, not of the document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/edits.hpp"
#include "onnx/message.hpp"
#include "save/type_changes.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::save {

/// The document's own edits, and those of a save on top of them.
class TensorEdits {
  public:
    explicit TensorEdits(const model::Document& document);

    /// Names a place in a data file instead of the values, or instead of another place. Entries of
    /// external_data with keys that ONNX does not know stay. `checksum`: the SHA-1 of the file in
    /// hexadecimal; empty: none is written.
    void make_external(const onnx::Message& tensor, std::string_view location, std::uint64_t offset,
                       std::uint64_t nbytes, std::string_view checksum = {});

    /// Puts the values into raw_data.
    void make_inline(const onnx::Message& tensor, const tensor::Payload& values);

    /// Gives a tensor whose values were placed the type of these, and another name.
    void change_type(const onnx::Message& tensor, const TypeChange& change);

    /// Adds a node Cast for each changed tensor of a graph that needs one, in front of its nodes:
    /// the value that it makes has the old name and type of the tensor. Removes those of an earlier
    /// save.
    void add_casts(const TypeChanges::OfGraph& changed, const TypeChanges& changes);

    /// Replaces a text field, or one of bytes, of any message.
    void replace_text(const onnx::Message& message, const wire::FieldRow& row,
                      std::string_view text);

    using Metadata = std::vector<std::pair<std::string, std::string>>;

    /// Replaces the entries of the metadata of a ModelProto whose keys begin with `prefix`.
    void replace_metadata(const onnx::Message& model, std::string_view prefix,
                          const Metadata& entries);

    [[nodiscard]] const model::EditedFields& all() const noexcept { return edits_; }

    /// The source of bytes of the document or of these edits.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const;

  private:
    // A complete field with that text as its content.
    [[nodiscard]] onnx::EncodedField text_field(const wire::FieldRow& row, std::string_view text);
    [[nodiscard]] onnx::EncodedField entry_field(const wire::FieldRow& row, std::string_view key,
                                                 std::string_view value);

    const model::Document& document_;
    model::Edits memory_;  // of the new fields
    model::EditedFields edits_;
};

}  // namespace onnxmap::save
