// The values of a tensor, in any storage form. The constructor finds and checks them; they are read
// on request. Holds views of the model's bytes, so the document must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/message.hpp"
#include "tensor/conversion.hpp"
#include "tensor/header.hpp"
#include "tensor/payload.hpp"
#include "tensor/segments.hpp"
#include "tensor/typed_values.hpp"

namespace onnxmap::tensor {

using VisitRange = std::function<void(const std::shared_ptr<const source::Source>& source,
                                      std::uint64_t offset, std::uint64_t nbytes)>;

class Values {
  public:
    /// `segments`: the pieces of the tensor, if it has a segment. `part`: how many elements the
    /// message holds, if it is one of the pieces. Files that were last checked before `since` are
    /// checked for changes. Throws Error `tensor.*`, `ext.*`, `file.changed`.
    Values(const onnx::Message& message, const Header& header, const Store& store,
           source::Timestamp since, Segments segments = nullptr,
           std::optional<std::uint64_t> part = std::nullopt);

    [[nodiscard]] const Header& header() const noexcept { return header_; }
    [[nodiscard]] const onnx::DataTypeInfo& type() const noexcept { return *type_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// The bytes of all values if they are stored as raw or packed bytes; otherwise null.
    [[nodiscard]] const Payload* payload() const noexcept {
        return payload_ ? &*payload_ : nullptr;
    }

    /// Whether an array can be a view of the stored values.
    [[nodiscard]] bool is_view() const noexcept {
        return payload_ && type_->fixed_width() && payload_->is_view();
    }

    /// Whether the values are stored in several TensorProtos, each with a segment.
    [[nodiscard]] bool in_pieces() const noexcept {
        return segments_ && segments_->segments.size() > 1;
    }

    /// The source that reading the values reads: the model, or an external file. For values in
    /// several pieces it is the model; reading guards the files of the pieces by itself.
    [[nodiscard]] const source::Source& source() const noexcept {
        return payload_ ? *payload_->source : *store_->source;
    }

    /// Bytes of the values, as stored, in all pieces.
    [[nodiscard]] std::uint64_t stored_nbytes() const;

    /// Calls visit(source, offset, nbytes) for each range that reading the values reads: the stored
    /// bytes, or the whole message if the values are in a typed field. For the other pieces of the
    /// tensor it throws what the constructor throws.
    void for_each_range(const VisitRange& visit) const;

    /// Reads elements begin .. begin + count of values that have a payload.
    void read_part(std::uint64_t begin, std::uint64_t count, const Conversion& conversion,
                   std::uint8_t* out) const;

    /// Reads all values, after check_count(). `out` has exactly count() elements of the
    /// conversion's type. Large tensors are read by several threads. Not for strings. Throws Error
    /// `tensor.*`, `file.changed`, and FileError.
    void read(const Conversion& conversion, std::span<std::uint8_t> out) const;

    /// Reads all values as raw_data has them, after check_count(): packed_nbytes(count(),
    /// type().bits) bytes.
    void read_packed(std::span<std::uint8_t> out) const;

    /// Counts the values in typed fields. Call it before allocating memory for the number of
    /// elements in the shape. Throws Error `tensor.data_size` if the two numbers differ, and
    /// `limit.overlap` if the tensor has too many segments and this is not its first segment in the
    /// file.
    void check_count();

    /// Reads the last byte if the bits after the last element must be zero. Throws Error
    /// `tensor.padding`.
    void check_padding() const;

    /// Checks whether the file has changed after its bytes were read: if it was cut within a page,
    /// the bytes after its end read as zeros without a fault. Throws Error `file.changed`.
    void check_again() const;

    /// Reads some bytes of values that have a payload: out.size() of those that read_packed()
    /// makes, from byte `begin` on. Call check_padding() before the first part and check_again()
    /// after the last.
    void read_packed_part(std::uint64_t begin, std::span<std::uint8_t> out) const;

    /// Calls visit(i, text) for each element of a STRING tensor.
    void for_each_string(
        const std::function<void(std::uint64_t i, std::string_view text)>& visit) const;

  private:
    [[nodiscard]] Values piece(const Segment& segment) const;
    void check_pieces() const;
    void make_resident() const;
    template <class Work>
    void guard_copied(Work&& work) const;
    void read_payload(const Conversion& conversion, std::uint8_t* out) const;
    void read_typed(std::uint8_t* out) const;
    void read_own(std::uint8_t* out) const;

    onnx::Message message_;
    Header header_;
    const Store* store_;
    source::Timestamp since_;
    const onnx::DataTypeInfo* type_;
    std::uint64_t count_;
    std::optional<Payload> payload_;
    std::optional<TypedValues> typed_;  // set once the values are counted
    Segments segments_;
};

}  // namespace onnxmap::tensor
