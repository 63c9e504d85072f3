// What a TensorProto means: its shape and type, where its values are stored, and the values. The
// errors have the name of the tensor, or its path in the model if it has no name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/document.hpp"
#include "model/tensor_path.hpp"
#include "onnx/message.hpp"
#include "source/source.hpp"
#include "tensor/external_data.hpp"
#include "tensor/header.hpp"
#include "tensor/values.hpp"

namespace onnxmap::model {

/// An open file of external data.
struct ExternalFile {
    std::shared_ptr<const source::Source> source;
    std::string path;  // as this model names it; the source may be shared with another one
};

class Tensor {
  public:
    /// `message`: a TensorProto of the document, which must outlive this. Reads the header.
    Tensor(const Document& document, onnx::Message message);

    [[nodiscard]] const onnx::Message& message() const noexcept { return message_; }
    [[nodiscard]] const tensor::Header& header() const noexcept { return header_; }

    /// The number of elements. Throws Error `tensor.*`.
    [[nodiscard]] std::uint64_t count() const;
    /// The element type. Throws Error `tensor.dtype`.
    [[nodiscard]] const onnx::DataTypeInfo& type() const;
    /// Throws Error `tensor.dtype` if ONNX has no such type. No type at all (0, UNDEFINED) is no
    /// fault here.
    void check_type() const;

    /// Finds and checks the values, and opens the file that holds them. If the TensorProto is one
    /// segment of several, they are the values of the whole tensor. Files that were last checked
    /// before `since` are checked for changes; the default is source::kRecently. Throws Error
    /// `tensor.*`, `ext.*`, `file.changed`.
    [[nodiscard]] tensor::Values values(
        std::optional<source::Timestamp> since = std::nullopt) const;
    /// The values, or nothing if they are not valid: reading them reports the fault. Throws Error
    /// `file.changed`.
    [[nodiscard]] std::optional<tensor::Values> values_if_valid() const;

    /// The entries of `external_data`; nothing if the values are in the model. Throws Error
    /// `ext.*`.
    [[nodiscard]] std::optional<tensor::ExternalEntry> external() const;
    /// The path of the file that holds the values. Nothing if they are in memory, in several
    /// places, or decoded from a field. Throws Error `ext.*`.
    [[nodiscard]] std::optional<std::string> file() const;
    /// Opens the file of external values; nothing if the values are in the model. Throws Error
    /// `ext.*`, and FileError.
    [[nodiscard]] std::optional<ExternalFile> open_external() const;
    /// The position of the values in that file, in bytes. Throws Error `ext.*`.
    [[nodiscard]] std::optional<std::uint64_t> offset() const;
    /// Bytes of the values, as stored; the sum over all segments of the tensor.
    [[nodiscard]] std::uint64_t stored_nbytes() const;

    /// From now on, errors about a tensor that has no name have no path either. Finding the path
    /// takes a walk over the model, which a caller that knows the path can do without.
    void leave_paths_out() noexcept { finds_paths_ = false; }
    /// Returns work(). If it throws an Error about a tensor that has no name, the error gets the
    /// path of this tensor.
    template <class Work>
    auto naming(Work&& work) const {
        try {
            return std::forward<Work>(work)();
        } catch (const Error& error) {
            if (!finds_paths_) throw;
            throw with_tensor_path(error, document_, header_.begin);
        }
    }

  private:
    [[nodiscard]] tensor::Values find_values(source::Timestamp since) const;
    [[nodiscard]] tensor::ExternalEntry entry() const;
    [[nodiscard]] bool is_in_pieces() const;
    // The path of the file that holds these bytes, or of that which an edit took them from; empty
    // if no file does.
    [[nodiscard]] std::string path_in_model() const;
    // The bytes of the values if they are in one piece.
    [[nodiscard]] std::optional<ByteView> bytes_in_model() const;

    const Document& document_;
    onnx::Message message_;
    tensor::Header header_;
    bool finds_paths_ = true;
};

}  // namespace onnxmap::model
