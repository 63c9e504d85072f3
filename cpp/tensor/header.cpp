#include "tensor/header.hpp"

#include <string>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

constexpr std::int32_t kExternal = 1;  // TensorProto.DataLocation.EXTERNAL

[[noreturn]] void fail_overflow(const Header& header) {
    fail(header, "tensor.size_overflow", "its shape has more than 2^63 elements or bytes");
}

bool has_range(const onnx::Message& segment) {
    return segment.has(field<"TensorProto.Segment.begin">) ||
           segment.has(field<"TensorProto.Segment.end">);
}

}  // namespace

std::string of_tensor(std::string_view name) {
    return name.empty() ? std::string() : "tensor " + in_quotes(name) + ": ";
}

void fail(const Header& header, const char* code, const std::string& message,
          std::string_view location) {
    Error error(code, {of_tensor(header.name), message});
    error.tensor = std::string(header.name);
    error.location = std::string(location);
    throw error;
}

bool is_segment(const onnx::Message& tensor) {
    const auto segment = tensor.child(field<"TensorProto.segment">);
    return segment && has_range(*segment);
}

Header read_header(const onnx::Message& message) {
    Header header;
    header.begin = message.key();
    message.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
        if (row == nullptr) return;
        if (row == &field<"TensorProto.dims">) {
            onnx::Message::unpack(*row, value,
                                  [&](const wire::Field& dim) { header.add_dim(dim.int64()); });
        } else if (row == &field<"TensorProto.data_type">) {
            header.data_type = value.int32();
        } else if (row == &field<"TensorProto.name">) {
            header.name = value.text();
        } else if (row == &field<"TensorProto.raw_data">) {
            header.raw_data = value.bytes;
        } else if (row == &field<"TensorProto.data_location">) {
            header.external = value.int32() == kExternal;
        } else if (row == &field<"TensorProto.segment">) {
            header.has_segment = header.has_segment || has_range(message.inner(*row, value));
        } else if (row->repeated() && !row->is_message()) {
            const bool empty_run = row->packable() && value.bytes.empty() &&
                                   value.type == wire::WireType::length_delimited;
            if (!empty_run) header.typed_fields |= 1U << row->number;
        }
    });
    return header;
}

const onnx::DataTypeInfo& element_type(const Header& header) {
    const onnx::DataTypeInfo* info = onnx::find_data_type(header.data_type);
    if (info == nullptr) {
        fail(header, "tensor.dtype",
             "data_type " + std::to_string(header.data_type) + " is not an element type of ONNX");
    }
    return *info;
}

std::uint64_t element_count(const Header& header) {
    if (header.rank > kMaxRank) {
        fail(header, "tensor.rank", too_many_dims(header.rank));
    }
    bool empty = false;
    std::uint64_t count = 1;
    bool overflow = false;
    for (const std::int64_t dim : header.dims()) {
        if (dim < 0) {
            fail(header, "tensor.negative_dim",
                 "its shape has the negative dimension " + std::to_string(dim));
        }
        empty = empty || dim == 0;
        overflow = overflow || !checked_mul(count, static_cast<std::uint64_t>(dim), count);
    }
    if (empty) return 0;
    if (overflow || count > INT64_MAX) fail_overflow(header);
    return count;
}

bool fits_numpy(std::span<const std::int64_t> dims, const onnx::DataTypeInfo& type) noexcept {
    // NumPy's item is one byte for elements that ONNX packs tighter, and a pointer for strings.
    std::uint64_t nbytes = type.bits == 0 ? sizeof(void*) : type.itemsize();
    for (const std::int64_t dim : dims) {
        // A zero in the shape does not excuse a product of the other dimensions that is too large.
        if (dim == 0) continue;
        if (!checked_mul(nbytes, static_cast<std::uint64_t>(dim), nbytes) || nbytes > INT64_MAX) {
            return false;
        }
    }
    return true;
}

std::string too_many_dims(std::uint64_t rank) {
    return "it has " + std::to_string(rank) + " dimensions; NumPy supports at most " +
           std::to_string(kMaxRank);
}

void check_fits_numpy(const Header& header) {
    if (!fits_numpy(header.dims(), element_type(header))) fail_overflow(header);
}

std::uint64_t packed_nbytes(std::uint64_t count, std::uint32_t bits) noexcept {
    if (bits % 8 == 0) return count * (bits / 8);
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

}  // namespace onnxmap::tensor
