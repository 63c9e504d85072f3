#include "safetensors/header.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "safetensors/json_reader.hpp"

namespace onnxmap::safetensors {

namespace {

// Source: safetensors, `enum Dtype`, whose order from the last to the first it is.
constexpr std::string_view kOrder[] = {
    "U64", "I64", "F64",     "C64",         "F32",         "U32",     "I32",     "BF16",
    "F16", "U16", "I16",     "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2",
    "I8",  "U8",  "F6_E3M2", "F6_E2M3",     "F4",          "BOOL"};

[[noreturn]] void fail_entry(const char* code, const Entry& entry, const std::string& reason) {
    Error error(code, {"tensor ", Quoted(entry.name), ": ", reason});
    error.tensor = entry.name;
    throw error;
}

const onnx::DataTypeInfo* type_named(std::string_view name) {
    const auto types = onnx::data_types();
    const auto found = std::ranges::find(types, name, &onnx::DataTypeInfo::safetensors);
    return found == types.end() || name.empty() ? nullptr : &*found;
}

// Reads the fields of a tensor. Those that the format does not have are skipped.
Entry read_entry(JsonReader& reader, std::string name) {
    Entry entry;
    entry.name = std::move(name);
    bool has_shape = false;
    std::vector<std::uint64_t> offsets;
    const auto read_list = [&](std::vector<std::uint64_t>& out) {
        reader.for_each_element([&] { out.push_back(reader.integer()); });
    };
    reader.for_each_member([&](const std::string& key) {
        const bool again = (key == "dtype" && entry.type != nullptr) ||
                           (key == "shape" && has_shape) ||
                           (key == "data_offsets" && !offsets.empty());
        if (again) reader.fail("tensor " + in_quotes(entry.name) + " has " + key + " twice");
        if (key == "dtype") {
            const std::string type = reader.string();
            entry.type = type_named(type);
            if (entry.type == nullptr) reader.fail("there is no dtype " + in_quotes(type));
        } else if (key == "shape") {
            has_shape = true;
            read_list(entry.shape);
        } else if (key == "data_offsets") {
            read_list(offsets);
            if (offsets.size() != 2) reader.fail("data_offsets must be two numbers");
        } else {
            reader.skip_value();
        }
    });
    if (entry.type == nullptr || !has_shape || offsets.empty()) {
        reader.fail("tensor " + in_quotes(entry.name) + " lacks its dtype, shape or data_offsets");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    return entry;
}

void check_size(const Entry& entry) {
    std::uint64_t bits = 1;
    for (const std::uint64_t dim : entry.shape) {
        if (!checked_mul(bits, dim, bits)) {
            fail_entry("tensor.size_overflow", entry, "its shape has more than 2^64 elements");
        }
    }
    if (!checked_mul(bits, entry.type->bits, bits)) {
        fail_entry("tensor.size_overflow", entry, "its values have more than 2^64 bits");
    }
    if (bits % 8 != 0) fail_entry("model.safetensors", entry, "its values end within a byte");
    if (bits / 8 != entry.end - entry.begin) {
        fail_entry("tensor.data_size", entry,
                   "dtype and shape need " + std::to_string(bits / 8) + " bytes, and it has " +
                       std::to_string(entry.end - entry.begin));
    }
}

void check_data(std::vector<Entry>& tensors, std::uint64_t data_nbytes) {
    std::ranges::sort(tensors, {}, [](const Entry& each) {
        return std::tuple(each.begin, each.end, std::string_view(each.name));
    });
    std::uint64_t end = 0;
    for (const Entry& each : tensors) {
        if (each.end < each.begin) {
            fail_entry("model.safetensors", each, "its data end before they begin");
        }
        if (each.begin != end) {
            fail_entry("model.safetensors", each,
                       "its data begin at " + std::to_string(each.begin) +
                           ", not behind those of "
                           "the tensor before it, at " +
                           std::to_string(end));
        }
        check_size(each);
        end = each.end;
    }
    if (end == data_nbytes) return;
    throw Error("model.safetensors", {"the tensors need ", end,
                                      " bytes behind the header, and the file has ", data_nbytes});
}

// Throws if two of the names are the same. `what`: has the names.
void check_names(std::vector<std::string_view> names, const char* what) {
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) return;
    throw Error("model.safetensors", {what, " have the name ", Quoted(*twice)});
}

std::optional<std::uint64_t> length_of(ByteView head) noexcept {
    if (head.size() < kLengthBytes) return std::nullopt;
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | head[i];
    return length;
}

}  // namespace

bool begins_file(ByteView head, std::uint64_t nbytes) noexcept {
    const auto length = length_of(head);
    return length && *length <= kMostJson && *length <= nbytes - kLengthBytes &&
           head.size() > kLengthBytes && head[kLengthBytes] == '{';
}

std::size_t order_of(const Entry& tensor) noexcept {
    return static_cast<std::size_t>(std::ranges::find(kOrder, tensor.type->safetensors) -
                                    std::begin(kOrder));
}

std::uint64_t json_nbytes(ByteView head, std::uint64_t file_nbytes) {
    const auto fail = [](const std::string& text) {
        Error error("model.safetensors", text);
        error.offset = 0;
        throw error;
    };
    const auto length = length_of(head);
    if (!length) fail("the file is shorter than the length of its header");
    if (*length > kMostJson) {
        fail("its header would have " + std::to_string(*length) +
             " bytes, at most 100,000,000 are "
             "allowed");
    }
    if (*length > file_nbytes - kLengthBytes) fail("the file ends within its header");
    return *length;
}

Header parse_header(std::string_view json, std::uint64_t data_nbytes) {
    Header header;
    JsonReader reader(json, kLengthBytes);
    std::string keys;
    std::vector<std::size_t> ends;  // of the keys
    if (!json.starts_with('{')) reader.fail("the header does not begin with {");
    bool has_metadata = false;
    reader.for_each_member([&](const std::string& key) {
        if (key != kMetadataName) {
            header.tensors.push_back(read_entry(reader, key));
            return;
        }
        if (has_metadata) reader.fail("the header has __metadata__ twice");
        has_metadata = true;
        if (reader.take_word("null")) return;
        const std::uint64_t begin = reader.offset();
        reader.for_each_member([&](const std::string& name) {
            static_cast<void>(reader.string());
            ends.push_back((keys += name).size());
        });
        header.metadata = json.substr(begin - kLengthBytes, reader.offset() - begin);
    });
    reader.end();
    std::vector<std::string_view> names;
    names.reserve(header.tensors.size());
    for (const Entry& each : header.tensors) names.push_back(each.name);
    check_names(std::move(names), "two tensors");
    names.clear();
    names.reserve(ends.size());
    for (std::size_t begin = 0; const std::size_t end : ends) {
        names.push_back(std::string_view(keys).substr(begin, end - begin));
        begin = end;
    }
    check_names(std::move(names), "two entries of __metadata__");
    check_data(header.tensors, data_nbytes);
    return header;
}

std::string header_bytes(std::span<const Entry> tensors, const Metadata& metadata,
                         std::uint64_t alignment) {
    std::string text(kLengthBytes, '\0');
    text += '{';
    if (!metadata.empty()) {
        write_json_string(text, kMetadataName);
        text += ':' + metadata + ',';
    }
    for (const Entry& each : tensors) {
        write_json_string(text, each.name);
        text += R"(:{"dtype":")" + std::string(each.type->safetensors) + R"(","shape":[)";
        for (const std::uint64_t dim : each.shape) text += std::to_string(dim) + ',';
        if (!each.shape.empty()) text.pop_back();
        text += R"(],"data_offsets":[)" + std::to_string(each.begin) + ',' +
                std::to_string(each.end) + "]},";
    }
    if (text.back() == ',') text.pop_back();
    text += '}';
    text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
    const std::uint64_t length = text.size() - kLengthBytes;
    if (length > kMostJson) {
        throw Error("save.not_carried", {"the header of the safetensors file would have ", length,
                                         " bytes, at most 100,000,000 are allowed"});
    }
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
        text[i] = static_cast<char>(length >> 8 * i & 0xff);
    }
    return text;
}

}  // namespace onnxmap::safetensors
