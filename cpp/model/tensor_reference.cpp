#include "model/tensor_reference.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "contain/contained_open.hpp"
#include "contain/location.hpp"
#include "contain/rooted_path.hpp"
#include "os/folder.hpp"
#include "os/pooled_file.hpp"
#include "tensor/external_data.hpp"

namespace onnxmap::model {

namespace {

using Folders = std::vector<std::shared_ptr<const os::Folder>>;

// The folder at a path, opened as unpickling opens it. Null if there is no folder.
std::shared_ptr<const os::Folder> folder_at(const std::string& path) {
    try {
        return os::Folder::open_shared(path);
    } catch (const FileError& error) {
        if (os::is_shortage(error)) throw;
        return nullptr;
    }
}

// Whether the folder's path and the relative path alone lead to the file.
bool leads_to(const contain::RootedPath& place, const contain::OpenPolicy& policy,
              const os::FileIdentity& file) {
    if (!contain::is_safe_location(place.relative_path)) return false;
    auto folder = folder_at(place.folder);
    if (!folder) return false;
    auto opener =
        std::make_shared<const contain::ContainedOpen>(Folders{std::move(folder)}, policy);
    return os::find_same_file(*contain::location_locator(std::move(opener), place.relative_path),
                              file)
        .has_value();
}

// The file, if it is open or can be opened again.
std::shared_ptr<const os::File> file_of(const source::Source& source) {
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
    const source::Source& source = *payload->source;
    const tensor::Store& store = document.store();
    const bool is_external = values.header().external;
    const std::size_t slash = source.path().rfind('/');
    // An edit may have assigned values of another model, whose file the caller loaded as well.
    const bool is_own = payload->source == store.source;
    const std::string folder = is_own                       ? document.folder()
                               : slash == std::string::npos ? std::string(".")
                                                            : source.path().substr(0, slash);
    contain::RootedPath named{folder, source.path().substr(slash + 1)};
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
    found.has_hard_links = file->status().names > 1;
    Folders folders = store.external.folders();
    if (!is_external) {
        if (auto own = folder_at(folder)) folders.push_back(std::move(own));
    }
    // Prefers a path without links: a link may get another target, even outside the folder.
    const contain::OpenPolicy& policy = store.external.folder().policy;
    const auto place = contain::rooted_path_of(*file, folders);
    if (place && leads_to(*place, policy, file->identity())) {
        found.folder = place->folder;
        found.location = place->relative_path;
        return found;
    }
    const bool is_absolute = named.folder.starts_with('/');
    if (is_absolute && leads_to(named, policy, file->identity())) return found;
    return std::nullopt;
}

}  // namespace onnxmap::model
