// Finds the stored bytes of a tensor: in the model's own bytes or in an external file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "onnx/message.hpp"
#include "source/source.hpp"
#include "tensor/header.hpp"
#include "tensor/store.hpp"

namespace onnxmap::tensor {

/// The fields of TensorProto that hold values, one bit per field number. All other fields are
/// structure.
inline constexpr std::uint32_t kPayloadFields =
    1U << onnx::field<"TensorProto.raw_data">.number |
    1U << onnx::field<"TensorProto.float_data">.number |
    1U << onnx::field<"TensorProto.int32_data">.number |
    1U << onnx::field<"TensorProto.string_data">.number |
    1U << onnx::field<"TensorProto.int64_data">.number |
    1U << onnx::field<"TensorProto.double_data">.number |
    1U << onnx::field<"TensorProto.uint64_data">.number;

struct Payload {
    std::shared_ptr<const source::Source> source;
    std::uint64_t offset = 0;  // in the source
    std::uint64_t nbytes = 0;

    /// Whether an array can be a view of the bytes.
    [[nodiscard]] bool is_view() const noexcept { return source->viewable(); }

    /// The bytes, if a view is possible; the source keeps them alive.
    [[nodiscard]] ByteView bytes() const noexcept {
        return nbytes == 0 ? ByteView() : ByteView(source->data() + offset, nbytes);
    }
};

/// Throws Error `tensor.data_size` if a typed field has the wrong number of values.
void check_value_count(const Header& header, std::uint64_t expected, std::uint64_t found);

/// Checks the rules for every storage form: type and shape are valid, and the data is in one place.
/// Returns the number of elements. If the store tolerates faults, only the place that counts is
/// left in `header`. Throws Error `tensor.*`.
std::uint64_t check_storage(Header& header, const Store& store);

/// The bytes of the values if the message holds them in one range: in raw_data, or in one packed
/// run of the type's field. Strings never are.
[[nodiscard]] std::optional<ByteView> bytes_in_message(const onnx::Message& message,
                                                       const Header& header,
                                                       const onnx::DataTypeInfo& type);

/// The bytes of `count` elements, after a check of their number, if they are stored as arrays have
/// them or packed: in raw_data, in an external file, or as one packed run of float_data or
/// double_data. Nothing if they must be decoded from a typed field.
/// `header` must have passed check_storage. Opens the external file on first use, and checks for
/// changes if the file was last checked before `since`. Throws Error `tensor.*`, `ext.*`,
/// `file.changed`.
[[nodiscard]] std::optional<Payload> find_payload(const onnx::Message& message,
                                                  const Header& header, std::uint64_t count,
                                                  const Store& store, source::Timestamp since);

/// The number of the tensor's stored bytes, for listings; 0 if type and shape do not give one.
[[nodiscard]] std::uint64_t stored_nbytes(const onnx::Message& message, const Header& header);

}  // namespace onnxmap::tensor
