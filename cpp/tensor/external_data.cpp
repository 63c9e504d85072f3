#include "tensor/external_data.hpp"

#include <cerrno>
#include <charconv>
#include <utility>

#include "base/error.hpp"
#include "io/shared_source.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

[[noreturn]] void fail(const char* code, std::string_view tensor, std::string_view location,
                       const std::string& message, const std::string& file = {}) {
    Error error(code, of_tensor(tensor) + message);
    error.tensor = std::string(tensor);
    error.location = std::string(location);
    error.file = file;
    throw error;
}

// ASCII digits and nothing else; what does not fit in 64 bits is past the end of any file.
std::uint64_t read_number(std::string_view text, const char* code, const char* key,
                          std::string_view tensor, std::string_view location) {
    constexpr std::size_t kMostDigits = 20;
    bool digits = !text.empty() && text.size() <= kMostDigits;
    for (const char c : text) digits = digits && c >= '0' && c <= '9';
    if (!digits) {
        fail(code, tensor, location,
             std::string("external ") + key + " " + quoted(text) + " is not a decimal number");
    }
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
        fail("ext.bounds", tensor, location,
             std::string("external ") + key + " " + quoted(text) + " does not fit in 64 bits");
    }
    return value;
}

// Judges the text alone, as both POSIX and Windows would read it, so that a model has the same
// verdict everywhere. Links are the file system's to judge, when the file is opened.
void check_location(std::string_view location, std::string_view tensor) {
    const auto unsafe = [&](const char* why) {
        fail("ext.unsafe_path", tensor, location,
             "external location " + quoted(location) + " is unsafe: " + why);
    };
    if (location.empty()) fail("ext.location", tensor, location, "external location is empty");
    if (location.find('\0') != std::string_view::npos) unsafe("NUL byte");
    const bool drive = location.size() >= 2 && location[1] == ':' &&
                       ((location[0] | 0x20) >= 'a' && (location[0] | 0x20) <= 'z');
    if (location[0] == '/' || location[0] == '\\' || drive) unsafe("absolute");
    if (location.find("_ORT_MEM_ADDR_") != std::string_view::npos) unsafe("a memory address");
    std::int64_t depth = 0;
    for (std::size_t begin = 0; begin <= location.size();) {
        std::size_t end = location.find_first_of("/\\", begin);
        if (end == std::string_view::npos) end = location.size();
        const std::string_view component = location.substr(begin, end - begin);
        begin = end + 1;
        if (component == "..") {
            if (--depth < 0) unsafe("outside the model directory");
        } else if (!component.empty() && component != ".") {
            ++depth;
        }
    }
    if (depth == 0 || location.back() == '/') {
        fail("ext.location", tensor, location,
             "external location " + quoted(location) + " is not a file");
    }
}

}  // namespace

ExternalEntry read_external_entry(const onnx::Message& tensor, std::string_view name,
                                  std::uint64_t max_entries) {
    std::optional<std::string_view> location;
    std::optional<std::string_view> offset;
    std::optional<std::string_view> length;
    ExternalEntry entry;
    std::uint64_t count = 0;
    tensor.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
        if (row != &field<"TensorProto.external_data">) return;
        if (++count > max_entries) {
            fail("limit.external_entries", name, "",
                 "more than " + std::to_string(max_entries) +
                     " external_data entries; raise it with limits=Limits(external_entries=...)");
        }
        std::string_view key;
        std::string_view text;
        const onnx::Message pair(onnx::message<"StringStringEntryProto">, value.bytes);
        pair.for_each_field([&](const wire::Field& part, const wire::FieldRow* which) {
            if (which == &field<"StringStringEntryProto.key">) key = part.text();
            if (which == &field<"StringStringEntryProto.value">) text = part.text();
        });
        std::optional<std::string_view>* slot = key == "location"   ? &location
                                                : key == "offset"   ? &offset
                                                : key == "length"   ? &length
                                                : key == "checksum" ? &entry.checksum
                                                                    : nullptr;
        if (slot == nullptr) return;  // kept in the file, never acted on
        if (slot->has_value()) {
            fail("ext.duplicate_key", name, location.value_or(""),
                 "external_data says " + quoted(key) + " twice");
        }
        *slot = text;
    });
    if (!location) fail("ext.location", name, "", "external_data names no location");
    entry.location = *location;
    if (offset) entry.offset = read_number(*offset, "ext.offset", "offset", name, *location);
    if (length) entry.length = read_number(*length, "ext.length", "length", name, *location);
    if (entry.length == 0) entry.length.reset();  // as onnxruntime and onnx-ir read it
    return entry;
}

std::string ExternalFiles::path_of(std::string_view location, std::string_view tensor) const {
    check_location(location, tensor);
    if (root_.empty()) return {};
    return root_ + (root_.ends_with('/') ? "" : "/") + std::string(location);
}

std::shared_ptr<const io::Source> ExternalFiles::open(std::string_view location,
                                                      std::string_view tensor) const {
    const std::lock_guard lock(mutex_);
    if (const auto known = files_.find(location); known != files_.end()) return known->second;
    check_location(location, tensor);
    if (root_.empty()) {
        fail("ext.no_root", tensor, location,
             "its data are in " + quoted(location) +
                 ", and a model from a buffer has no folder; give loads() an external_root");
    }
    std::shared_ptr<const io::Source> source;
    try {
        if (!folder_) folder_ = io::Folder::open_shared(root_);
        const auto open = [folder = folder_, name = std::string(location)] {
            return folder->open(name);
        };
        source = io::open_shared(open(), mode_, open);
    } catch (const FileError& error) {
        const std::string full = quoted(error.path);
        switch (error.code().value()) {
            case ENOENT:
            case ENOTDIR: fail("ext.missing", tensor, location, "no file " + full, error.path);
            case EACCES:
            case EPERM:
                fail("ext.permission", tensor, location, "no permission to read " + full,
                     error.path);
            case ELOOP:
            case EXDEV:
                fail("ext.unsafe_path", tensor, location,
                     "external location " + quoted(location) +
                         " is unsafe: a symlink leads outside the model directory");
            case ENAMETOOLONG:
                fail("ext.location", tensor, location, "external location is too long");
            default: throw;
        }
    } catch (const Error& error) {
        fail(error.code.c_str(), tensor, location, error.what(), error.file);
    }
    files_.emplace(location, source);
    return source;
}

}  // namespace onnxmap::tensor
