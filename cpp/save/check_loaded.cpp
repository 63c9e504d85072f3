#include "save/check_loaded.hpp"

#include <optional>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/pooled_file.hpp"

namespace onnxmap::save {

namespace {

[[noreturn]] void refuse_reference(const std::string& path) {
    fail_at("file.changed", path,
            " was moved, deleted or replaced since it was loaded, so nothing can refer to its "
            "values; load the model again, or save all values anew");
}

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

void check_referred(const source::Source& source, const std::string& path) {
    const auto loaded = source.identity();
    if (!loaded) return;
    source.check_unchanged();
    if (!os::find_same_file(*os::path_locator(path), *loaded)) refuse_reference(path);
}

os::FileIdentity state_of_referred(const source::Source& source, const std::string& path) {
    const auto loaded = source.identity();
    const auto now = os::find_same_file(*os::path_locator(path), *loaded);
    if (!now) refuse_reference(path);
    if (*now != *loaded) source.check_unchanged();  // accepts own appends
    return *now;
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
