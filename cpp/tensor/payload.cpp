#include "tensor/payload.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "tensor/segments.hpp"
#include "tensor/typed_values.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

constexpr std::uint32_t field_bit(const wire::FieldRow& row) noexcept { return 1U << row.number; }

// onnx uses external data first. Then it uses raw_data, or string_data for strings, and then the
// field that belongs to the type. Source: onnx.numpy_helper.to_array.
void keep_one_place(const onnx::DataTypeInfo& type, Header& header) {
    const std::uint32_t own = header.typed_fields & field_bit(*type.storage);
    if (type.bits == 0 && own != 0) header.raw_data.reset();
    header.typed_fields = header.raw_data ? 0 : own != 0 ? own : header.typed_fields;
}

void check_unambiguous(const onnx::DataTypeInfo& type, Header& header, const Store& store) {
    const int places = std::popcount(header.typed_fields) + (header.raw_data ? 1 : 0);
    if (places + (header.external ? 1 : 0) <= 1) return;
    const char* message = "its data is stored in more than one place";
    if (header.external) fail(header, "tensor.ambiguous_data", message);
    // If onnx would use none of them, as for two fields of other types, the fault is not
    // tolerated.
    const bool has_choice =
        header.raw_data || (header.typed_fields & field_bit(*type.storage)) != 0;
    if (has_choice || !store.tolerates()) {
        tolerate_or_fail(header, store, "tensor.ambiguous_data", message);
    }
    keep_one_place(type, header);
}

Payload find_external(const onnx::Message& message, const Header& header, const Store& store,
                      std::uint64_t expected, source::Timestamp since) {
    const ExternalEntry entry =
        read_external_entry(message, header.name, store.max_external_entries);
    if (entry.length && *entry.length != expected) {
        fail(header, "ext.length",
             "external length: expected " + std::to_string(expected) + ", declared " +
                 std::to_string(*entry.length),
             entry.location);
    }
    auto file = store.external.open(entry.location, header.name);
    store.check_unchanged(*file, since);
    std::uint64_t end = 0;
    if (!checked_add(entry.offset, expected, end) || end > file->size()) {
        fail(header, "ext.bounds",
             "it needs " + std::to_string(expected) + " bytes at offset " +
                 std::to_string(entry.offset) + ", but " + in_quotes(entry.location) +
                 " is too short: the file has " + std::to_string(file->size()) +
                 " bytes; is it truncated?",
             entry.location);
    }
    return {std::move(file), entry.offset, expected};
}

// The likely cause if a type smaller than a byte has as many bytes or values as elements.
std::string maybe_unpacked(const Header& header, std::uint64_t found) {
    const onnx::DataTypeInfo& type = element_type(header);
    if (!type.sub_byte() || found != element_count(header)) return {};
    return "; is each element stored by itself, as onnx.parser writes them? Elements of " +
           std::string(type.name) + " are packed: " + std::to_string(type.bits) + " bits each";
}

}  // namespace

std::shared_ptr<const source::Source> Store::source_of(ByteView bytes) const {
    if (holds(bytes)) return source;
    auto found = added ? added(bytes) : nullptr;
    if (!found) fail_changed();
    return found;
}

void tolerate_or_fail(const Header& header, const Store& store, const char* code,
                      const std::string& message) {
    try {
        fail(header, code, message);
    } catch (const Error& fault) {
        if (!store.tolerates()) throw;
        store.tolerate(fault, header);
    }
}

std::uint64_t check_storage(Header& header, const Store& store) {
    const onnx::DataTypeInfo& type = element_type(header);
    const std::uint64_t count = element_count(header);
    check_fits_numpy(header);
    check_unambiguous(type, header, store);
    if (type.bits == 0) {
        if (header.external) fail(header, "tensor.string_external", "strings cannot be external");
        if (header.raw_data) fail(header, "tensor.string_raw", "strings cannot be raw_data");
    }
    if ((header.typed_fields & ~field_bit(*type.storage)) != 0) {
        fail(header, "tensor.wrong_field",
             std::string(type.name) + " values must be in " + std::string(type.storage->name) +
                 ", not in another typed field");
    }
    return count;
}

std::optional<ByteView> bytes_in_message(const onnx::Message& message, const Header& header,
                                         const onnx::DataTypeInfo& type) {
    if (type.bits == 0) return std::nullopt;  // strings are several fields
    return header.raw_data ? header.raw_data : single_run(message, *type.storage);
}

std::optional<Payload> find_payload(const onnx::Message& message, const Header& header,
                                    std::uint64_t count, const Store& store,
                                    source::Timestamp since) {
    const onnx::DataTypeInfo& type = element_type(header);
    const std::uint64_t expected = packed_nbytes(count, type.bits);
    if (header.external) return find_external(message, header, store, expected, since);
    const std::optional<ByteView> found = bytes_in_message(message, header, type);
    if (!found) return std::nullopt;
    ByteView bytes = *found;
    if (!header.raw_data) {
        const std::uint64_t width = type.itemsize() / type.parts();
        check_value_count(header, expected / width, bytes.size() / width);
    } else if (bytes.size() != expected) {
        const std::string sizes = "expected " + std::to_string(expected) + " bytes, found " +
                                  std::to_string(bytes.size()) +
                                  maybe_unpacked(header, bytes.size());
        if (!type.sub_byte() || bytes.size() < expected) fail(header, "tensor.data_size", sizes);
        tolerate_or_fail(header, store, "tensor.data_size", sizes);
        bytes = bytes.first(expected);
    }
    auto source = store.source_of(bytes);
    if (source != store.source) store.check_unchanged(*source, since);  // it was assigned
    const std::uint64_t offset = source->offset_of(bytes);
    return Payload{std::move(source), offset, bytes.size()};
}

void check_value_count(const Header& header, std::uint64_t expected, std::uint64_t found) {
    if (found == expected) return;
    fail(header, "tensor.data_size",
         "expected " + std::to_string(expected) + " values, found " + std::to_string(found) +
             maybe_unpacked(header, found));
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
        std::uint64_t count = element_count(header);
        if (header.has_segment) count = std::min(count, segment_count(message));
        check_fits_numpy(header);  // otherwise its bytes need not fit in 64 bits
        return packed_nbytes(count, type->bits);
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace onnxmap::tensor
