#include "save/check_loaded.hpp"

#include <optional>

#include "base/error.hpp"
#include "os/held_file.hpp"
#include "os/own_appends.hpp"
#include "save/refuse.hpp"

namespace onnxmap::save {

namespace {

[[noreturn]] void refuse_reference(const std::string& path) {
    refuse("file.changed", path,
           " was moved, deleted or replaced since it was loaded, so nothing can refer to its "
           "values; load the model again, or put all values into the new files");
}

}  // namespace

void check_referred(const source::Source& source, const std::string& path) {
    const auto loaded = source.identity();
    if (!loaded) return;
    source.check_unchanged();
    if (!os::look_for(*os::way_by_path(path), *loaded)) refuse_reference(path);
}

os::FileIdentity state_of_referred(const source::Source& source, const std::string& path) {
    const auto loaded = source.identity();
    const auto now = os::look_for(*os::way_by_path(path), *loaded);
    if (!now) refuse_reference(path);
    if (*now != *loaded && !os::is_own_append(*loaded, *now)) {
        source.check_unchanged();
        refuse_reference(path);
    }
    return *now;
}

}  // namespace onnxmap::save
