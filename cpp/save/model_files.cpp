#include "save/model_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "model/load.hpp"
#include "model/other_formats.hpp"
#include "onnx/schema.hpp"
#include "os/found_object.hpp"
#include "save/named_files.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

namespace {

using namespace std::string_view_literals;

// How protobuf writes a model: the field ir_version, which every valid model has, and the next tag.
// Weights hardly ever begin so. Others may write any field first, and weights begin so now and
// then.
constexpr std::string_view kTags = "\x08\x12\x1a\"(2:Br\xa2\xca\xd2"sv;
constexpr std::string_view kOtherTags = kTags.substr(1);
constexpr std::string_view kBlanks = " \t\n\r\f\v"sv;

std::shared_ptr<const model::Document> opened(const std::string& path) {
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.scan_packed = false;
    options.folder = parent_of(path);
    options.external.root = options.folder;
    return model::load_file(path, source::IoMode::automatic, std::move(options));
}

// The first bytes of a regular file. Throws Failure.
std::string head_of(const os::FoundObject& found, const std::string& path) {
    constexpr std::uint64_t kHead = 4096;
    const auto file = found.open_by_name(path);
    if (!file) throw FileError(ENOENT, path);  // another file has the name now
    std::vector<std::uint8_t> head(std::min(file->size(), kHead));
    file->read(0, head);
    return std::string(as_text(head));
}

// Whether a model in onnx's own text, which onnxmap does not read, begins so.
bool begins_as_text_of_onnx(std::string_view head) {
    const auto skip_blanks = [&] {
        head.remove_prefix(std::min(head.find_first_not_of(kBlanks), head.size()));
    };
    skip_blanks();
    if (!head.starts_with('<')) return false;
    head.remove_prefix(1);
    skip_blanks();
    if (!head.starts_with("ir_version")) return false;
    head.remove_prefix("ir_version"sv.size());
    const char next = head.empty() ? ' ' : head[0];
    return next != '_' && !is_digit(next) && !is_letter(next);
}

bool begins_as_model(std::string_view head) {
    const bool is_binary = head.size() > 2 && head[0] == kTags[0] && head[1] != 0 &&
                           static_cast<unsigned char>(head[1]) < 0x80 &&
                           kOtherTags.find(head[2]) != std::string_view::npos;
    return is_binary || begins_as_text_of_onnx(head) ||
           !model::text_form_of_model(as_bytes(head)).empty();
}

// Whether a text, which may be one line of gigabytes, may name files. There is no need to parse one
// that does not.
bool may_name_files(const os::File& file, const Callbacks& callbacks) {
    constexpr std::uint64_t kChunk = 1 << 20;
    constexpr std::size_t kOverlap = 16;
    std::vector<std::uint8_t> bytes;
    for (std::uint64_t at = 0; at < file.size();) {
        callbacks.look();
        bytes.erase(bytes.begin(),
                    bytes.end() - static_cast<std::ptrdiff_t>(std::min(bytes.size(), kOverlap)));
        const std::size_t kept = bytes.size();
        bytes.resize(kept + std::min(kChunk, file.size() - at));
        file.read(at, std::span(bytes).subspan(kept));
        at += bytes.size() - kept;
        const std::string_view text = as_text(bytes);
        for (const auto name : {"external_data"sv, "externalData"sv, "EPContext"sv}) {
            if (text.find(name) != std::string_view::npos) return true;
        }
    }
    return false;
}

// The locations in a text form of a model; nothing if the file does not look like one.
std::optional<std::vector<std::string>> locations_in_text(const std::string& path,
                                                          const Callbacks& callbacks) {
    const os::FoundObject found(path, os::AtLink::its_target);
    if (model::text_form_of_model(as_bytes(head_of(found, path))).empty()) return std::nullopt;
    if (!may_name_files(os::File::open(path), callbacks)) return std::vector<std::string>();
    return callbacks.locations_in_text(path);
}

bool may_be_model(const os::OutputFolder& folder, const std::string& name, const std::string& path,
                  const Callbacks& callbacks) {
    // Of a save that goes on, or was killed.
    if (name.ends_with(".onnxmap-tmp") || name.ends_with(os::kAsideEnd)) return false;
    std::string head;
    try {
        const os::FoundObject found = folder.find(name, os::AtLink::its_target, path);
        if (found.status().kind != os::FileKind::regular) return false;
        head = head_of(found, path);
    } catch (const FileError& error) {
        return error.number != ENOENT;  // nobody knows
    } catch (const Error&) {
        return true;
    }
    if (begins_as_model(head)) return true;
    // Other bytes may read as a model by chance, but not as one with data files.
    if (head.empty() || kTags.find(head[0]) == std::string_view::npos) return false;
    const auto paths = if_possible([&] { return external_paths(path, callbacks); });
    return paths && !paths->empty();
}

}  // namespace

bool is_named_as_model(std::string_view name) { return lower(name).ends_with(".onnx"); }

bool is_model(const std::string& path) {
    return if_possible([&] { return opened(path); }).has_value();
}

bool is_likely_model(const std::string& path) {
    if (is_named_as_model(path)) return true;
    const auto head =
        if_possible([&] { return head_of(os::FoundObject(path, os::AtLink::its_target), path); });
    return !head || begins_as_model(*head);
}

std::vector<std::string> external_paths(const std::string& model, const Callbacks& callbacks) {
    std::vector<std::string> paths;
    try {
        const auto locations = file_locations(*opened(model));
        paths.assign(locations.begin(), locations.end());
    } catch (const Error& error) {
        const bool may_be_text =
            error.code.starts_with("wire.") ||
            (error.code.starts_with("model.") && error.code != "model.not_regular");
        auto locations = may_be_text ? locations_in_text(model, callbacks) : std::nullopt;
        if (!locations) throw;
        paths = std::move(*locations);
    }
    for (std::string& each : paths) each = joined(parent_of(model), each);
    return paths;
}

std::vector<std::string> names_of_models(const std::string& path, bool all_names,
                                         const Callbacks& callbacks) {
    std::vector<std::string> names;
    try {
        const os::OutputFolder folder(path, path);
        names = folder.names(path);
        std::erase_if(names, [&](const std::string& name) {
            callbacks.look();
            return !is_named_as_model(name) &&
                   !(all_names && may_be_model(folder, name, joined(path, name), callbacks));
        });
    } catch (const FileError&) {
        return {};
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace onnxmap::save
