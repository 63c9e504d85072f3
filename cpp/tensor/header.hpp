// The fields of a TensorProto without its values. Cheap to make: one walk over the fields, no
// allocation. Valid as long as the bytes of the message are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "onnx/data_type.hpp"
#include "onnx/message.hpp"

namespace onnxmap::tensor {

inline constexpr std::size_t kMaxRank = 64;  // NumPy's

struct Header {
    const std::uint8_t* begin = nullptr;  // of the message: identifies the tensor in the model
    std::string_view name;
    std::int32_t data_type = 0;  // as stored; it may not be a type of ONNX
    std::uint64_t rank = 0;      // how many dims are stored, even if more than kMaxRank
    std::array<std::int64_t, kMaxRank> dims_storage;  // NOLINT: filled up to the rank
    std::optional<ByteView> raw_data;
    std::uint32_t typed_fields = 0;  // a bit per field number: float_data is 1 << 4
    bool external = false;
    bool has_segment = false;

    void add_dim(std::int64_t dim) noexcept {
        if (rank < kMaxRank) dims_storage[rank] = dim;
        ++rank;
    }
    [[nodiscard]] std::span<const std::int64_t> dims() const noexcept {
        return std::span(dims_storage).first(rank < kMaxRank ? rank : kMaxRank);
    }
};

/// The beginning of an error text about a tensor. If the tensor has no name, its path is added
/// later.
[[nodiscard]] std::string of_tensor(std::string_view name);

/// Throws an Error about this tensor with `code`; `location` is for external data.
[[noreturn]] void fail(const Header& header, const char* code, const std::string& message,
                       std::string_view location = {});

/// `message` is a TensorProto.
[[nodiscard]] Header read_header(const onnx::Message& message);

/// Whether a TensorProto is a piece of a tensor. A segment that does not say where it begins or
/// ends means nothing.
[[nodiscard]] bool is_segment(const onnx::Message& tensor);

/// The element type. Throws Error `tensor.dtype`.
[[nodiscard]] const onnx::DataTypeInfo& element_type(const Header& header);

/// The number of elements. Throws Error `tensor.rank`, `tensor.negative_dim` or
/// `tensor.size_overflow`.
[[nodiscard]] std::uint64_t element_count(const Header& header);

/// Whether a NumPy array of this type can have the shape, even if it has no elements. No dimension
/// is negative.
[[nodiscard]] bool fits_numpy(std::span<const std::int64_t> dims,
                              const onnx::DataTypeInfo& type) noexcept;

/// The text of error `tensor.rank`.
[[nodiscard]] std::string too_many_dims(std::uint64_t rank);

/// Throws Error `tensor.size_overflow` if fits_numpy() is false.
void check_fits_numpy(const Header& header);

/// Bytes of `count` elements stored raw; sub-byte elements are packed.
[[nodiscard]] std::uint64_t packed_nbytes(std::uint64_t count, std::uint32_t bits) noexcept;

}  // namespace onnxmap::tensor
