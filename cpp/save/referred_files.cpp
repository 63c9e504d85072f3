#include "save/referred_files.hpp"

#include "os/file.hpp"
#include "os/file_status.hpp"
#include "os/held_file.hpp"
#include "save/check_loaded.hpp"

namespace onnxmap::save {

namespace {

std::string path_now(const source::Source& source) {
    const auto loaded = source.identity();
    if (!loaded) return {};
    source.check_unchanged();
    std::string path = os::path_of_open(source.file()->descriptor());
    if (path.empty()) path = source.path();
    const bool leads_there =
        path.starts_with('/') && os::look_for(*os::way_by_path(path), *loaded).has_value();
    return leads_there ? path : std::string();
}

}  // namespace

const std::string& ReferredFiles::path_of(const std::shared_ptr<const source::Source>& source) {
    const auto known = paths_.find(source);
    return known != paths_.end() ? known->second
                                 : paths_.emplace(source, path_now(*source)).first->second;
}

void ReferredFiles::check() const {
    for (const auto& [source, path] : paths_) {
        if (!path.empty()) check_referred(*source, path);
    }
}

}  // namespace onnxmap::save
