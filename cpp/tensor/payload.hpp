// Where the stored bytes of a tensor are: in the model's own bytes or in an external file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "io/source.hpp"
#include "onnx/message.hpp"
#include "tensor/external_data.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

/// Fields of TensorProto that hold values, a bit per field number; all others are structure.
inline constexpr std::uint32_t kPayloadFields =
    1U << onnx::field<"TensorProto.raw_data">.number |
    1U << onnx::field<"TensorProto.float_data">.number |
    1U << onnx::field<"TensorProto.int32_data">.number |
    1U << onnx::field<"TensorProto.string_data">.number |
    1U << onnx::field<"TensorProto.int64_data">.number |
    1U << onnx::field<"TensorProto.double_data">.number |
    1U << onnx::field<"TensorProto.uint64_data">.number;

/// What the tensors of one model share.
struct Store {
    std::shared_ptr<const io::Source> source;  // of the model itself
    ExternalFiles external;
    std::uint64_t max_external_entries;
};

struct Payload {
    std::shared_ptr<const io::Source> source;  // keeps `bytes` alive
    ByteView bytes;                            // addresses in the source; see Source::viewable
    std::uint64_t offset = 0;                  // of `bytes` in the source

    /// Whether the elements can be looked at where they are.
    [[nodiscard]] bool is_view() const noexcept { return source->viewable(); }
};

/// What holds for every storage form: type and shape make sense, the data are in one place.
/// Throws Error `tensor.*`. Returns the number of elements.
std::uint64_t check_storage(const Header& header);

/// Bytes of a tensor that is stored raw or externally, checked against its shape and type. Opens
/// the external file where that is the first look at it. Throws Error `tensor.*` or `ext.*`.
[[nodiscard]] Payload find_payload(const onnx::Message& message, const Header& header,
                                   const Store& store);

/// Whether the values are stored as whole raw elements: what find_payload can find.
[[nodiscard]] bool stored_raw(const Header& header) noexcept;

/// Bytes the tensor takes as it is stored, for listings: 0 where the model is wrong about it.
[[nodiscard]] std::uint64_t stored_nbytes(const onnx::Message& message, const Header& header);

}  // namespace onnxmap::tensor
