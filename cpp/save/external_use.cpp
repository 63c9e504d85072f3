#include "save/external_use.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_ranges.hpp"
#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "os/held_file.hpp"
#include "save/view_keys.hpp"

namespace onnxmap::save {

std::string plain_location(std::string_view location) {
    std::vector<std::string_view> parts;
    std::string plain(location.starts_with('/') ? "/" : "");
    while (!location.empty()) {
        const std::size_t end = std::min(location.find('/'), location.size());
        const std::string_view part = location.substr(0, end);
        location.remove_prefix(std::min(end + 1, location.size()));
        if (part.empty() || part == ".") continue;
        if (part == ".." && !parts.empty() && parts.back() != "..") {
            parts.pop_back();
        } else {
            parts.push_back(part);
        }
    }
    for (const std::string_view part : parts) {
        plain.append(part) += '/';
    }
    if (!parts.empty()) plain.pop_back();
    return plain;
}

const std::string& FilePaths::of(const model::ExternalFile& file) {
    return paths_.try_emplace({file.source.get(), plain_location(file.path)}, file.path)
        .first->second;
}

std::map<std::string, UsedBytes> with_unused_bytes(std::map<std::string, UsedBytes> files) {
    std::erase_if(files, [](const auto& each) {
        const auto& [path, used] = each;
        const auto loaded = used.source ? used.source->identity() : std::nullopt;
        return used.is_viewed || (loaded && !os::look_for(*os::way_by_path(path), *loaded));
    });
    return files;
}

std::map<std::string, UsedBytes> external_use(const model::Document& document) {
    const std::string viewed = viewed_file(document);
    std::map<std::string, UsedBytes> files;
    std::map<std::string, ByteRanges> ranges;
    FilePaths paths;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        const model::Tensor tensor(document, message);
        const auto file = tensor.open_external();
        if (!file) return;
        const std::string& path = paths.of(*file);
        UsedBytes& used = files[path];
        used.nbytes = file->source->size();
        used.source = file->source;
        used.is_viewed |= !viewed.empty() && plain_location(tensor.external()->location) == viewed;
        const auto values = tensor.values_if_valid();
        const tensor::Payload* const payload = values ? values->payload() : nullptr;
        if (payload != nullptr && payload->nbytes > 0) {
            ranges[path].add(payload->offset, payload->offset + payload->nbytes);
        }
    });
    for (const auto& [path, used] : ranges) {
        for (const auto& range : used) files[path].used += range.end - range.begin;
    }
    return with_unused_bytes(std::move(files));
}

void open_loaded_files(const model::Document& document) {
    model::for_each_loaded_tensor(document, [&](const std::string&, const onnx::Message& message) {
        try {
            static_cast<void>(model::Tensor(document, message).open_external());
        } catch (const Error&) {
            // Reading the tensor raises the error.
        }
    });
}

std::set<std::string> external_locations(const model::Document& document) {
    std::set<std::string> locations;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        try {
            const auto entry = model::Tensor(document, message).external();
            if (entry) locations.emplace(entry->location);
        } catch (const Error& error) {
            // The entries of this tensor lead to no file.
            if (!error.code.starts_with("ext.") && !error.code.starts_with("tensor.")) throw;
        }
    });
    return locations;
}

}  // namespace onnxmap::save
