#include "model/tensor_reference.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "io/contained_open.hpp"
#include "io/file_place.hpp"
#include "io/folder.hpp"
#include "io/held_file.hpp"
#include "tensor/external_data.hpp"
#include "tensor/location.hpp"

namespace onnxmap::model {

namespace {

using Folders = std::vector<std::shared_ptr<const io::Folder>>;

// The folder at a path, opened like unpickling opens it. Null if there is none.
std::shared_ptr<const io::Folder> folder_at(const std::string& path) {
    try {
        return io::Folder::open_shared(path);
    } catch (const FileError& error) {
        if (io::is_shortage(error)) throw;
        return nullptr;
    }
}

// Whether the two texts alone, the folder and the path below it, lead to the file.
bool leads_to(const io::FilePlace& place, const io::OpenPolicy& policy,
              const io::FileIdentity& file) {
    if (!tensor::is_safe_location(place.relative_path)) return false;
    auto folder = folder_at(place.folder);
    if (!folder) return false;
    auto opener = std::make_shared<const io::ContainedOpen>(Folders{std::move(folder)}, policy);
    return io::look_for(*io::way_by_location(std::move(opener), place.relative_path), file)
        .has_value();
}

// The file, if it is open or can be opened again.
std::shared_ptr<const io::File> file_of(const io::Source& source) {
    try {
        return source.file();
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace

std::optional<TensorReference> reference_to(const Document& document, const onnx::Message& tensor,
                                            const tensor::Values& values) {
    const tensor::Payload* payload = values.payload();
    if (payload == nullptr || payload->nbytes == 0 || payload->source->path().empty()) {
        return std::nullopt;
    }
    const io::Source& source = *payload->source;
    const tensor::Store& store = document.store();
    const bool is_external = values.header().external;
    io::FilePlace named{document.folder(), source.path().substr(source.path().rfind('/') + 1)};
    if (is_external) {
        named = {store.external.root(),
                 std::string(tensor::read_external_entry(tensor, values.header().name,
                                                         store.max_external_entries)
                                 .location)};
    }
    TensorReference found{named.folder,
                          named.relative_path,
                          named.relative_path,
                          payload->offset,
                          payload->nbytes,
                          source.size(),
                          false};
    if (!source.remote_state().empty()) return found;
    const auto file = file_of(source);
    if (!file) return std::nullopt;
    found.has_hard_links = file->has_hard_links();
    Folders folders = store.external.folders();
    if (!is_external) {
        if (auto own = folder_at(document.folder())) folders.push_back(std::move(own));
    }
    // Prefers a path without links: a link may get another target, even outside the folder.
    const io::OpenPolicy& policy = store.external.place().policy;
    const auto place = io::place_of(*file, folders);
    if (place && leads_to(*place, policy, file->identity())) {
        found.folder = place->folder;
        found.location = place->relative_path;
        return found;
    }
    if (leads_to(named, policy, file->identity())) return found;
    return std::nullopt;
}

}  // namespace onnxmap::model
