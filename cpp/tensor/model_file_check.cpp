#include "tensor/model_file_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "os/output_folder.hpp"

namespace onnxmap::tensor {

namespace {

using Folders = std::span<const std::shared_ptr<const os::Folder>>;

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

// Whether a save has given the file another name. The new file may be gone by now.
bool was_moved_aside(const source::Source& model) {
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

bool has_old_file(const os::Folder& folder, std::string_view name) {
    bool found = false;
    os::for_each_name(*folder.open(), folder.path(), [&](std::string_view each, bool) {
        found = os::is_aside_of(each, name);
        return !found;
    });
    return found;
}

// Whether a save has moved a file of the model's name aside, and the new file will get the name.
bool is_replaced_now(const std::string& path, Folders folders) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = path.substr(0, std::max<std::size_t>(slash, 1));
    try {
        const auto own =
            folders.front()->path() == parent ? folders.front() : os::Folder::open_shared(parent);
        if (has_old_file(*own, std::string_view(path).substr(slash + 1))) return true;
        // A link led to the file, which may have any name there.
        return std::ranges::any_of(folders.subspan(1),
                                   [](const auto& real) { return has_old_file(*real, {}); });
    } catch (const FileError& error) {
        if (os::is_shortage(error)) throw;
        return false;  // nobody may list the folder
    } catch (const Error&) {
        return false;  // another folder has its name
    }
}

[[noreturn]] void fail_replaced(const std::string& path) {
    fail_at("file.changed", path,
            " was replaced by another file since it was loaded, so its data files may have changed "
            "with it; load it again");
}

}  // namespace

void check_not_replaced(const source::Source& model, const os::FileLocator& locator,
                        const std::string& path, Folders folders) {
    const auto loaded = model.identity();
    if (!loaded) return;
    model.check_unchanged();
    auto found = found_by(locator);
    if (!found) {
        if (was_moved_aside(model) || is_replaced_now(path, folders)) fail_replaced(model.path());
        found = found_by(locator);  // the save may have ended between the two
    }
    if (found && !found->same_file(*loaded)) fail_replaced(model.path());
}

}  // namespace onnxmap::tensor
