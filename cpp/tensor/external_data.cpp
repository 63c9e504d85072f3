#include "tensor/external_data.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "contain/location.hpp"
#include "contain/refusal.hpp"
#include "onnx/schema.hpp"
#include "source/shared_source.hpp"
#include "tensor/header.hpp"
#include "tensor/model_file_check.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

// Each lists a folder. A hostile model may have any number of locations.
constexpr std::size_t kMostSearches = 8;

[[noreturn]] void fail(const char* code, std::string_view tensor, std::string_view location,
                       const std::string& message, const std::string& file = {},
                       const char* remedy = "") {
    Error error(code, {of_tensor(tensor), message});
    error.tensor = std::string(tensor);
    error.location = std::string(location);
    error.file = file;
    error.remedy = remedy;
    throw error;
}

[[noreturn]] void fail_location(const char* code, std::string_view tensor,
                                std::string_view location, const std::string& why,
                                const std::string& root, const char* remedy = "",
                                const std::string& advice = {}) {
    std::string message = "external location " + in_quotes(location) + " " + why;
    if (!root.empty()) message += " (the model directory is " + in_quotes(root) + ")";
    if (!advice.empty()) message += "; " + advice;
    fail(code, tensor, location, message, {}, remedy);
}

struct Reason {
    const char* text;
    const char* remedy = "";
};

Reason reason_of(contain::Refusal reason) {
    switch (reason) {
        case contain::Refusal::leads_outside:
            return {"a symlink leads outside the model directory", "trusted"};
        case contain::Refusal::is_link:
            return {"its path contains a symlink, and link_policy is strict", "contained"};
        case contain::Refusal::has_hard_links:
            return {"it has another hard link, which may be outside the model directory",
                    "hard_links"};
        case contain::Refusal::being_replaced:
            return {"it was replaced while it was opened; try again"};
        case contain::Refusal::not_regular: break;
    }
    return {"it is not a regular file"};
}

// Only ASCII digits are allowed. A number that does not fit in 64 bits is past the end of any file.
std::uint64_t read_number(std::string_view text, const char* code, const char* key,
                          std::string_view tensor, std::string_view location) {
    constexpr std::size_t kMostDigits = 20;
    if (text.size() > kMostDigits || !is_number(text)) {
        fail(code, tensor, location,
             std::string("external ") + key + " " + in_quotes(text) + " is not a decimal number");
    }
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
        fail("ext.bounds", tensor, location,
             std::string("external ") + key + " " + in_quotes(text) + " does not fit in 64 bits");
    }
    return value;
}

}  // namespace

ExternalEntry read_external_entry(const onnx::Message& tensor, std::string_view name,
                                  std::uint64_t max_entries) {
    std::optional<std::string_view> location;
    std::optional<std::string_view> offset;
    std::optional<std::string_view> length;
    ExternalEntry entry;
    std::uint64_t count = 0;
    tensor.for_each_child(field<"TensorProto.external_data">, [&](const onnx::Message& pair) {
        if (++count > max_entries) {
            fail("limit.external_entries", name, "",
                 "more than " + std::to_string(max_entries) +
                     " external_data entries; raise the limit with "
                     "limits=Limits(external_entries=...)");
        }
        const std::string_view key = pair.text(field<"StringStringEntryProto.key">);
        std::optional<std::string_view>* slot = key == "location"   ? &location
                                                : key == "offset"   ? &offset
                                                : key == "length"   ? &length
                                                : key == "checksum" ? &entry.checksum
                                                                    : nullptr;
        if (slot == nullptr) return;  // other keys have no effect
        if (slot->has_value()) {
            fail("ext.duplicate_key", name, location.value_or(""),
                 "external_data has the key " + in_quotes(key) + " more than once");
        }
        *slot = pair.text(field<"StringStringEntryProto.value">);
    });
    if (!location) fail("ext.location", name, "", "external_data has no location");
    entry.location = *location;
    if (offset) entry.offset = read_number(*offset, "ext.offset", "offset", name, *location);
    if (length) entry.length = read_number(*length, "ext.length", "length", name, *location);
    if (entry.length == 0) entry.length.reset();  // as onnxruntime and onnx-ir read it
    return entry;
}

ExternalFiles::ExternalFiles(ExternalFolder folder)
    : folder_(std::move(folder)), files_(std::exchange(folder_.opened, {})) {
    if (folder_.root.empty() || folder_.remote) return;
    try {
        std::vector<std::shared_ptr<const os::Folder>> roots = {
            os::Folder::open_shared(folder_.root)};
        if (folder_.model_folder) roots.push_back(folder_.model_folder);
        opener_ = std::make_shared<const contain::ContainedOpen>(std::move(roots), folder_.policy);
        find_way_to_model();
    } catch (const FileError& error) {
        // The folder does not exist, and a folder that is made later is not used. Opening a file
        // throws this error.
        if (os::is_shortage(error)) throw;
        no_folder_ = error;
    }
}

// A model and its data are usually in one folder, whose path may change.
void ExternalFiles::find_way_to_model() {
    if (!folder_.model) return;
    const auto name = os::path_below(folder_.model_path, folder_.root);
    if (name && name->rfind('/') == 0) {
        way_to_model_ = os::folder_locator(opener_->roots().front(), std::string(name->substr(1)));
    } else {
        way_to_model_ = os::path_locator(folder_.model_path);
    }
}

void ExternalFiles::check(std::string_view location, std::string_view tensor) const {
    try {
        contain::check_location(location);
    } catch (const contain::LocationFault& fault) {
        const bool unsafe = std::string_view(fault.code) == "ext.unsafe_path";
        const std::string inside = relative_to_root(location);
        const std::string advice =
            is_folder(unsafe ? inside : location.substr(0, location.find_last_not_of('/') + 1))
                ? "name a file in it"
            : inside.empty() ? fault.advice
                             : "write " + in_quotes(inside) + " in the model";
        fail_location(fault.code, tensor, location, (unsafe ? "is unsafe: " : "") + fault.why,
                      folder_.root, "", advice);
    }
}

// What to write for an absolute path that leads into the folder; otherwise empty.
std::string ExternalFiles::relative_to_root(std::string_view location) const {
    if (!opener_) return {};
    const auto real = if_possible([&] { return opener_->roots().front()->real_path(); });
    for (const std::string& root : {folder_.root, real.value_or(std::string())}) {
        std::string_view rest = os::path_below(location, root).value_or(std::string_view());
        rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
        if (contain::is_safe_location(rest)) return std::string(rest);
    }
    return {};
}

// Whether a safe location names a directory in the folder.
bool ExternalFiles::is_folder(std::string_view location) const {
    if (!opener_ || !contain::is_safe_location(location)) return false;
    try {
        static_cast<void>(opener_->open(std::string(location)));
    } catch (const FileError& error) {
        return error.number == EISDIR;
    } catch (const Failure&) {  // another error than of a directory
    } catch (const contain::Refused&) {}
    return false;
}

std::vector<std::shared_ptr<const os::Folder>> ExternalFiles::folders() const {
    if (!opener_) return {};
    return opener_->roots();
}

std::string ExternalFiles::path_of(std::string_view location, std::string_view tensor) const {
    check(location, tensor);
    if (folder_.remote) return folder_.remote->url_of(location);
    if (folder_.root.empty()) return {};
    return os::joined(folder_.root, location);
}

std::shared_ptr<const source::Source> ExternalFiles::open(std::string_view location,
                                                          std::string_view tensor) const {
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = files_.find(location); known != files_.end()) return known->second;
    }
    check(location, tensor);
    if (folder_.root.empty()) {
        fail("ext.no_root", tensor, location,
             "its data is in " + in_quotes(location) + ", but a model from a buffer has no folder",
             {}, "root");
    }
    // Opens the file without the mutex: opening may take a while and may need the interpreter lock.
    // If two threads open one file, both get the same source, and the other source is dropped after
    // the unlock.
    auto source = open_file(location, tensor);
    check_model();
    const std::lock_guard lock(mutex_);
    return files_.try_emplace(std::string(location), std::move(source)).first->second;
}

std::shared_ptr<const source::Source> ExternalFiles::open_file(std::string_view location,
                                                               std::string_view tensor) const {
    try {
        if (folder_.remote) return source::open_shared(folder_.remote->open(location));
        if (no_folder_) throw FileError(*no_folder_);
        const std::string name(location);
        return source::open_shared(opener_->open(name), folder_.mode,
                                   contain::location_locator(opener_, name));
    } catch (const FileError& error) {
        fail_to_open(error, location, tensor);
    } catch (const contain::Refused& refused) {
        if (refused.reason == contain::Refusal::not_regular) {
            fail("ext.not_regular", tensor, location,
                 in_quotes(refused.path) + " is not a regular file", refused.path);
        }
        const Reason reason = reason_of(refused.reason);
        fail_location("ext.unsafe_path", tensor, location, std::string("is unsafe: ") + reason.text,
                      root(), reason.remedy);
    } catch (const Error& error) {
        fail(error.code.c_str(), tensor, location, error.what(), error.file);
    }
}

// After opening: a save replaces the model after its data files, or moves it aside before.
void ExternalFiles::check_model() const {
    if (!way_to_model_) return;
    check_not_replaced(*folder_.model, *way_to_model_, folder_.model_path, opener_->roots());
}

void ExternalFiles::fail_to_open(const FileError& error, std::string_view location,
                                 std::string_view tensor) const {
    const std::string full = in_quotes(error.path);
    if (error.number == ENOENT) check_model();  // a save may have taken the file away
    switch (error.number) {
        case ENOENT:
        case ENOTDIR:
            fail("ext.missing", tensor, location, "no file " + full + near_name(location),
                 error.path);
        case ELOOP: fail("ext.missing", tensor, location, "symlink loop at " + full, error.path);
        case EACCES:
        case EPERM:
            fail("ext.permission", tensor, location, "no permission to read " + full, error.path);
        case EISDIR:
            fail_location("ext.location", tensor, location, "is not a file but a directory", root(),
                          "", "name a file in it");
        case ENAMETOOLONG: fail_location("ext.location", tensor, location, "is too long", root());
        default: throw error;
    }
}

// What the error for a missing file says about a file that may be the right one; empty if there is
// none. Only names are read, in the folder of the location and in the model's.
std::string ExternalFiles::near_name(std::string_view location) const {
    if (!opener_) return {};
    {
        const std::lock_guard lock(mutex_);
        const auto known = near_names_.find(location);
        if (known != near_names_.end()) return known->second;
        if (near_names_.size() >= kMostSearches) return {};
        near_names_.try_emplace(std::string(location));  // other threads count this search
    }
    std::string text = find_near_name(location);
    const std::lock_guard lock(mutex_);
    return near_names_.find(location)->second = std::move(text);
}

std::string ExternalFiles::find_near_name(std::string_view location) const {
    std::string path(location);
    std::ranges::replace(path, '\\', '/');  // as Windows writes it
    const std::size_t end = path.rfind('/') + 1;
    const std::string& model = folder_.model_path;
    for (const std::string& folder : {path.substr(0, end), std::string()}) {
        NearestName nearest(path.substr(end), model.substr(model.rfind('/') + 1));
        try {
            opener_->for_each_name(folder, [&](std::string_view name, bool is_folder) {
                return is_folder || nearest.compare(name);
            });
        } catch (const contain::Refused&) {  // the folder of the location is a link
        } catch (const Failure&) {           // or is not there
        }
        if (const auto& found = nearest.found()) {
            const char* const end_of_question =
                found->only_encoding ? ", whose letters are encoded differently?" : "?";
            return "; did you mean " + in_quotes(folder + found->name) + end_of_question +
                   " Rename that file, or change the location in the model";
        }
    }
    return {};
}

}  // namespace onnxmap::tensor
