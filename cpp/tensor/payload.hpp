// Where the stored bytes of a tensor are: in the model's own bytes or in an external file.
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

/// Fields of TensorProto that hold values, a bit per field number; all others are structure.
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

    /// Whether the bytes can be looked at where they are.
    [[nodiscard]] bool is_view() const noexcept { return source->viewable(); }

    /// The bytes where they are, if they can be looked at; the source keeps them alive.
    [[nodiscard]] ByteView bytes() const noexcept {
        return nbytes == 0 ? ByteView() : ByteView(source->data() + offset, nbytes);
    }
};

/// Throws Error `tensor.data_size` where a typed field has not the values that it should.
void check_value_count(const Header& header, std::uint64_t expected, std::uint64_t found);

/// What holds for every storage form: type and shape make sense, the data are in one place. Returns
/// the number of elements. Where the store overlooks faults, `header` is left with the one place
/// that counts. Throws Error `tensor.*`.
std::uint64_t check_storage(Header& header, const Store& store);

/// The bytes of `count` elements, checked against their number, where they are stored as arrays
/// have them, or packed: in raw_data, in an external file, or as one run of float_data or
/// double_data. Nothing where they must be decoded from a typed field. `header` has gone through
/// check_storage. Opens the external file where that is the first look at it; looks whether it has
/// changed where that was not done since `since`. Throws Error `tensor.*`, `ext.*`, `file.changed`.
[[nodiscard]] std::optional<Payload> find_payload(const onnx::Message& message,
                                                  const Header& header, std::uint64_t count,
                                                  const Store& store, source::Moment since);

/// Bytes the tensor takes as it is stored, for listings: 0 where the model is wrong about it.
[[nodiscard]] std::uint64_t stored_nbytes(const onnx::Message& message, const Header& header);

}  // namespace onnxmap::tensor
