#include "save/check_loaded.hpp"

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/pooled_file.hpp"

namespace onnxmap::save {

namespace {

// Empty if no path leads to the file.
std::string path_now(const source::Source& source) {
    const auto loaded = source.identity();
    if (!loaded) return {};
    source.check_unchanged();
    std::string path = os::path_of_open(source.file()->descriptor());
    if (path.empty()) path = source.path();
    const bool leads_there =
        path.starts_with('/') && os::find_same_file(*os::path_locator(path), *loaded).has_value();
    return leads_there ? path : std::string();
}

}  // namespace

std::optional<os::FileIdentity> check_referred(const source::Source& source,
                                               const std::string& path) {
    const auto loaded = source.identity();
    if (!loaded) return std::nullopt;
    source.check_unchanged();
    const auto now = os::find_same_file(*os::path_locator(path), *loaded);
    if (!now) {
        fail_at("file.changed", path,
                " was moved, deleted or replaced since it was loaded, so nothing can refer to its "
                "values; load the model again, or save all values anew");
    }
    if (*now != *loaded) source.check_unchanged();  // accepts own appends
    return now;
}

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
