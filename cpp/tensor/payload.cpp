#include "tensor/payload.hpp"

#include <bit>
#include <string>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

void check_unambiguous(const Header& header) {
    const int places =
        std::popcount(header.typed_fields) + (header.raw_data ? 1 : 0) + (header.external ? 1 : 0);
    if (places > 1) {
        fail(header, "tensor.ambiguous_data", "its data are stored in more than one place");
    }
}

Payload find_external(const onnx::Message& message, const Header& header, const Store& store,
                      std::uint64_t expected) {
    const ExternalEntry entry =
        read_external_entry(message, header.name, store.max_external_entries);
    if (entry.length && *entry.length != expected) {
        fail(header, "ext.length",
             "external length: expected " + std::to_string(expected) + ", declared " +
                 std::to_string(*entry.length),
             entry.location);
    }
    auto file = store.external.open(entry.location, header.name);
    std::uint64_t end = 0;
    if (!checked_add(entry.offset, expected, end) || end > file->size()) {
        fail(header, "ext.bounds",
             "needs " + std::to_string(expected) + " bytes at offset " +
                 std::to_string(entry.offset) + ", but " + quoted(entry.location) + ": file has " +
                 std::to_string(file->size()) + " bytes; is it truncated?",
             entry.location);
    }
    const ByteView bytes = file->bytes().subspan(entry.offset, expected);
    return {std::move(file), bytes, entry.offset};
}

}  // namespace

bool stored_raw(const Header& header) noexcept { return header.external || header.raw_data; }

std::uint64_t check_storage(const Header& header) {
    const onnx::DataTypeInfo& type = element_type(header);
    const std::uint64_t count = element_count(header);
    check_fits_numpy(header);
    check_unambiguous(header);
    if (header.has_segment) {
        fail(header, "tensor.segment", "it is one segment of a larger tensor");
    }
    if (type.bits == 0) {
        if (header.external) fail(header, "tensor.string_external", "strings cannot be external");
        if (header.raw_data) fail(header, "tensor.string_raw", "strings cannot be raw_data");
    }
    return count;
}

Payload find_payload(const onnx::Message& message, const Header& header, const Store& store) {
    const std::uint64_t expected = packed_nbytes(check_storage(header), element_type(header).bits);
    if (header.external) return find_external(message, header, store, expected);
    const ByteView bytes = header.raw_data.value_or(ByteView{});
    if (bytes.size() != expected) {
        fail(header, "tensor.data_size",
             "expected " + std::to_string(expected) + " bytes, found " +
                 std::to_string(bytes.size()));
    }
    return {store.source, bytes, header.raw_data ? store.source->offset_of(bytes) : 0};
}

std::uint64_t stored_nbytes(const onnx::Message& message, const Header& header) {
    const onnx::DataTypeInfo* type = onnx::find_data_type(header.data_type);
    if (header.raw_data) return header.raw_data->size();
    if (type == nullptr) return 0;
    if (type->bits == 0) {
        std::uint64_t sum = 0;
        message.for_each_value(field<"TensorProto.string_data">,
                               [&](const wire::Field& text) { sum += text.bytes.size(); });
        return sum;
    }
    try {
        const std::uint64_t count = element_count(header);
        check_fits_numpy(header);  // otherwise its bytes need not fit in 64 bits
        return packed_nbytes(count, type->bits);
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace onnxmap::tensor
