// Where the values of a tensor are stored: the file and the offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/document.hpp"
#include "onnx/message.hpp"
#include "tensor/external_data.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

/// A tensor of the document. Its header is parsed once, for several questions. The object must not
/// outlive the document.
class TensorPlace {
  public:
    TensorPlace(const Document& document, onnx::Message tensor);

    [[nodiscard]] const tensor::Header& header() const noexcept { return header_; }

    /// The entries of `external_data`; nothing if the values are in the model. Throws Error
    /// `ext.*`.
    [[nodiscard]] std::optional<tensor::ExternalEntry> external() const;

    /// The path of the file that holds the values. Nothing if they are in memory, in several
    /// places, or decoded from a field. Throws Error `ext.*`.
    [[nodiscard]] std::optional<std::string> file() const;

    /// The position of the values in that file, in bytes. Throws Error `ext.*`.
    [[nodiscard]] std::optional<std::uint64_t> offset() const;

    /// Bytes of the values, as stored; the sum over all segments of the tensor.
    [[nodiscard]] std::uint64_t stored_nbytes() const;

  private:
    [[nodiscard]] tensor::ExternalEntry entry() const;
    // The values if they are valid. Otherwise this object stays silent, since reading the values
    // reports the fault.
    [[nodiscard]] std::optional<tensor::Values> values_if_good() const;
    [[nodiscard]] bool is_in_pieces() const;
    // The bytes of the values if the model's file holds them in one piece.
    [[nodiscard]] std::optional<ByteView> bytes_in_model() const;

    const Document& document_;
    onnx::Message tensor_;
    tensor::Header header_;
};

}  // namespace onnxmap::model
