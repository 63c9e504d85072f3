#include "save/external_use.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "os/folder.hpp"
#include "os/pooled_file.hpp"
#include "save/view_models.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

std::string plain_location(std::string_view location) {
    std::vector<std::string_view> parts;
    std::string plain(location.starts_with('/') ? "/" : "");
    os::for_each_component(location, "/", [&](std::string_view part) {
        if (part.empty() || part == ".") return;
        if (part == ".." && !parts.empty() && parts.back() != "..") {
            parts.pop_back();
        } else {
            parts.push_back(part);
        }
    });
    for (const std::string_view part : parts) {
        plain.append(part) += '/';
    }
    if (!parts.empty()) plain.pop_back();
    return plain;
}

const std::string& FileFinder::path_of(const model::ExternalFile& file) {
    return paths_.try_emplace({file.source.get(), plain_location(file.path)}, file.path)
        .first->second;
}

LoadedFiles::value_type* FileFinder::find(const model::Tensor& tensor, const std::string& viewed) {
    const auto opened = tensor.open_external();
    if (!opened) return nullptr;
    auto& file = *files_.try_emplace(path_of(*opened)).first;
    file.second.source = opened->source;
    file.second.is_viewed |=
        !viewed.empty() && plain_location(tensor.external()->location) == viewed;
    return &file;
}

LoadedFiles with_unused_bytes(LoadedFiles files) {
    std::erase_if(files, [](const auto& each) {
        const auto& [path, file] = each;
        const auto loaded = file.source->identity();
        return file.is_viewed || (loaded && !os::find_same_file(*os::path_locator(path), *loaded));
    });
    return files;
}

LoadedFiles external_use(const model::Document& document) {
    const std::string viewed = viewed_file(document);
    FileFinder finder;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        const model::Tensor tensor(document, message);
        auto* const file = finder.find(tensor, viewed);
        const auto values = file != nullptr ? tensor.values_if_valid() : std::nullopt;
        const tensor::Payload* const payload = values ? values->payload() : nullptr;
        if (payload == nullptr || payload->nbytes == 0) return;
        file->second.used.add(payload->offset, payload->offset + payload->nbytes);
    });
    return with_unused_bytes(finder.files());
}

std::set<std::string> external_locations(const model::Document& document) {
    std::set<std::string> locations;
    const auto add = [&](const std::string&, const onnx::Message& message) {
        try {
            const auto entry = model::Tensor(document, message).external();
            if (entry) locations.emplace(entry->location);
        } catch (const Error& error) {
            // The entries of this tensor lead to no file.
            if (!error.code.starts_with("ext.") && !error.code.starts_with("tensor.")) throw;
        }
    };
    source::guard_reads(document.source(), [&] { model::for_each_tensor(document, add); });
    return locations;
}

}  // namespace onnxmap::save
