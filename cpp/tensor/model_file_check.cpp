#include "tensor/model_file_check.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/output_folder.hpp"

namespace onnxmap::tensor {

namespace {

// The file to which the way leads; nothing if it leads nowhere.
std::optional<os::FileIdentity> found_by(const os::FileLocator& locator) {
    try {
        return locator.identify();
    } catch (const FileError& error) {
        if (os::is_shortage(error)) throw;
    } catch (const Error&) {
        // Another folder has the name of the folder.
    }
    return std::nullopt;
}

// Whether a save has given the file another name, and the new file will get the old one.
bool is_moved_aside(const source::Source& model) {
    try {
        const auto file = model.file();
        if (!file) return false;
        std::string path = os::path_of_open(file->descriptor());
        // So Linux shows a file that the save has removed at its end.
        constexpr std::string_view kDeleted = " (deleted)";
        if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
        return path.ends_with(os::kAsideEnd);
    } catch (const Error&) {
        return false;  // its descriptor was closed, and no name leads to it
    }
}

[[noreturn]] void fail_replaced(const std::string& path) {
    fail_at("file.changed", path,
            " was replaced by another file since it was loaded, so its data files may have changed "
            "with it; load it again");
}

}  // namespace

void check_not_replaced(const source::Source& model, const os::FileLocator& locator) {
    const auto loaded = model.identity();
    if (!loaded) return;
    model.check_unchanged();
    auto found = found_by(locator);
    if (!found) {
        if (is_moved_aside(model)) fail_replaced(model.path());
        found = found_by(locator);  // the save may have ended between the two
    }
    if (found && !found->same_file(*loaded)) fail_replaced(model.path());
}

}  // namespace onnxmap::tensor
