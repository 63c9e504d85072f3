#include "os/folder.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/made_once.hpp"
#include "os/found_object.hpp"
#include "os/weak_registry.hpp"

namespace onnxmap::os {

namespace {

std::shared_ptr<const Descriptor> open_shared_descriptor(const std::string& path) {
    return std::make_shared<const Descriptor>(open_folder(path));
}

// Includes the path, because error texts show it. Leaves out size and time, which change with the
// contents of the folder.
using FolderKey = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::string>;

}  // namespace

void for_each_name(const Descriptor& folder, const std::string& path, const VisitName& visit) {
    Descriptor again = open_descriptor([&] {
        return ::openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    });
    if (!again) throw FileError(errno, path);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again.number()), &::closedir);
    if (!stream) throw FileError(errno, path);
    static_cast<void>(again.release());  // closedir() closes it
    while (true) {
        errno = 0;
        const dirent* const entry = ::readdir(stream.get());
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (!visit(name, entry->d_type == DT_DIR)) return;
    }
    if (errno != 0) throw FileError(errno, path);
}

std::string joined(const std::string& folder, std::string_view location) {
    if (location.starts_with('/')) return std::string(location);
    return folder + (folder.ends_with('/') ? "" : "/") + std::string(location);
}

std::optional<std::string_view> path_below(std::string_view path, std::string_view folder) {
    if (folder.empty() || !path.starts_with(folder)) return std::nullopt;
    path.remove_prefix(folder.size());
    if (!path.empty() && path[0] != '/' && folder != "/") return std::nullopt;
    return path;
}

Folder::Folder(std::string path) : path_(std::move(path)) {
    auto opened = open_shared_descriptor(path_);
    identity_ = status_of(opened->number(), path_).identity;
    held_.keep(std::move(opened));
}

std::shared_ptr<const Folder> Folder::open_shared(const std::string& path) {
    auto& known_folders = made_once<WeakRegistry<FolderKey, const Folder>>();
    const auto key_of = [&](const FileIdentity& folder) {
        return FolderKey{folder.device, folder.inode, folder.born_ns, path};
    };
    const FileIdentity found = status_of(open_folder(path).number(), path).identity;
    if (auto known = known_folders.find(key_of(found))) return known;
    auto folder = std::make_shared<const Folder>(path);
    const FolderKey key = key_of(folder->identity_);
    return known_folders.keep(key, std::move(folder));
}

std::shared_ptr<const Descriptor> Folder::open() const {
    if (auto opened = std::static_pointer_cast<const Descriptor>(held_.find())) return opened;
    auto opened = open_shared_descriptor(path_);
    if (!status_of(opened->number(), path_).identity.same_file(identity_)) {
        fail_at("file.changed", path_,
                " is no longer the folder that was opened; load the model again");
    }
    held_.keep(opened);
    return opened;
}

std::string Folder::real_path() const {
    const auto opened = open();
    std::string real = path_of_open(opened->number());
    if (real.empty()) real = real_path_of(path_);  // if the system does not report the path
    // A folder that was deleted, or that is not visible from here, has no path; the system then
    // gives some other text.
    if (!real.starts_with('/')) return {};
    const auto found = object_at(real, AtLink::the_link);
    return found && found->identity.same_file(identity_) ? real : std::string();
}

std::shared_ptr<const Folder> real_folder_of(const std::string& path, const FileIdentity& file) {
    if (!link_target(path)) return nullptr;
    const std::string real = real_path_of(path);
    const std::size_t slash = real.rfind('/');
    if (slash == std::string::npos) return nullptr;
    try {
        auto folder = Folder::open_shared(real.substr(0, std::max<std::size_t>(slash, 1)));
        // The link may have changed since the file was opened: the folder counts only if it
        // contains the file.
        const FoundObject object(folder->open(), real.substr(slash + 1), AtLink::the_link, real);
        if (!object.status().identity.same_file(file)) return nullptr;
        return folder;
    } catch (const FileError&) {
        return nullptr;
    }
}

}  // namespace onnxmap::os
