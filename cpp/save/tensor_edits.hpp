// The changes that a save makes to tensors: from inline to external data and back. They are edits
// of the message that is written, not of the document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/document.hpp"
#include "model/edits.hpp"
#include "onnx/message.hpp"

namespace onnxmap::save {

/// Where the values of a tensor are in a data file.
struct DataPlace {
    std::string location;  // of the file, relative to the folder of the model
    std::uint64_t offset = 0;
    std::uint64_t nbytes = 0;
    std::string checksum = {};  // SHA-1 of the file in hexadecimal; empty: not written
};

/// The document's own edits, and those of a save on top of them.
class TensorEdits {
  public:
    explicit TensorEdits(const model::Document& document);

    /// Names a place in a data file instead of the values, or instead of another place. Entries of
    /// external_data with keys that ONNX does not know stay.
    void make_external(const onnx::Message& tensor, const DataPlace& place);

    /// Puts the values into raw_data. `source` has them.
    void make_inline(const onnx::Message& tensor, std::shared_ptr<const source::Source> source,
                     ByteView bytes);

    /// Adds an entry to the metadata of a ModelProto.
    void add_metadata(const onnx::Message& model, std::string_view key, std::string_view value);

    /// Removes the entries of the metadata of a ModelProto whose keys begin with `prefix`.
    void remove_metadata(const onnx::Message& model, std::string_view prefix);

    [[nodiscard]] const model::Edits::ByKey& all() const noexcept { return edits_; }

    /// The source of bytes of the document or of these edits.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const;

  private:
    // The fields of a message with the edits so far.
    [[nodiscard]] std::shared_ptr<const onnx::Pieces> fields_now(
        const onnx::Message& message) const;
    // A complete field with that text as its content.
    [[nodiscard]] onnx::EncodedField text_field(const wire::FieldRow& row, std::string_view text);
    [[nodiscard]] onnx::EncodedField entry_field(const wire::FieldRow& row, std::string_view key,
                                                 std::string_view value);

    const model::Document& document_;
    model::Edits memory_;  // of the new fields
    model::Edits::ByKey edits_;
};

}  // namespace onnxmap::save
