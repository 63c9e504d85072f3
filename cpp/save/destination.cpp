#include "save/destination.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "os/file_system.hpp"
#include "os/found_object.hpp"

namespace onnxmap::save {

namespace {

// As many as Linux follows.
constexpr int kMostLinks = 40;

[[noreturn]] void refuse_special(const std::string& path) {
    fail_at("save.not_regular", path,
            " is not a regular file, and is not replaced; choose another name");
}

// Links such as /dev/stdout are the system's: a file in place of one would break other programs.
void refuse_link_to_special(const std::string& path) {
    std::string place = path;
    for (int i = 0; i <= kMostLinks; ++i) {
        try {
            const os::FoundObject found(place, os::AtLink::the_link);
            const os::FileStatus& status = found.status();
            if (os::leads_to_kernel(found.handle(), status, status.identity.device, path)) {
                refuse_special(path);
            }
            if (status.kind == os::FileKind::folder) throw FileError(EISDIR, path);
            if (status.kind == os::FileKind::other) refuse_special(path);
            if (status.kind == os::FileKind::regular) return;
        } catch (const FileError& error) {
            if (error.number == ENOENT || error.number == ENOTDIR) return;  // it leads nowhere
            throw FileError(error.number, path);
        }
        const auto target = os::link_target(place);
        if (!target) return;
        place = target->starts_with('/') ? *target : folder_part(place) + *target;
    }
}

}  // namespace

std::string follow_links(const std::string& path) {
    std::string place = path;
    for (int i = 0; i <= kMostLinks; ++i) {
        const auto target = os::link_target(place);
        if (!target) return place;
        place = target->starts_with('/') ? *target : folder_part(place) + *target;
    }
    throw FileError(ELOOP, path);
}

Destination Destinations::find(const std::string& path, AtOutputLink at_link,
                               const std::string& location, bool may_replace) {
    if (path.empty()) throw FileError(ENOENT, path);
    if (path.find('\0') != std::string::npos) throw FileError(EINVAL, path);
    if (at_link != AtOutputLink::refuse) refuse_link_to_special(path);
    const std::string place = at_link == AtOutputLink::follow ? follow_links(path) : path;
    Destination found;
    found.folder_path = folder_part(place);
    found.name = place.substr(found.folder_path.size());
    found.path = path;
    found.at_link = at_link;
    found.may_replace = may_replace;
    found.folder = open_folder(found.folder_path, path, location);
    if (found.name.empty() || found.name == "." || found.name == "..") {
        throw FileError(EISDIR, path);
    }
    check_again(found);
    const std::pair taken{found.folder, found.name};
    if (std::find(taken_.begin(), taken_.end(), taken) != taken_.end()) {
        fail_at("save.same_path", path, " is the path of two output files; give each its own");
    }
    taken_.push_back(taken);
    return found;
}

void Destinations::check_again(Destination& place) const {
    place.old = place.folder->look(place.name, place.path);
    if (!place.old) return;
    if (!place.may_replace) throw FileError(EEXIST, place.path);
    switch (place.old->kind) {
        case os::FileKind::regular:
            if (!replaces_read_only_ && place.folder->is_protected(place.name, *place.old)) {
                throw FileError(EACCES, place.path);
            }
            break;
        case os::FileKind::folder: throw FileError(EISDIR, place.path);
        case os::FileKind::link:
            if (place.at_link == AtOutputLink::replace) break;
            fail_at("save.link", place.path,
                    " is a symbolic link, and no data file is written there; remove the link or "
                    "choose another name");
        case os::FileKind::other: refuse_special(place.path);
    }
}

OpenFolder Destinations::open_folder(const std::string& folder_path, const std::string& path,
                                     const std::string& location) {
    for (const auto& [known_path, folder] : folders_) {
        if (known_path == folder_path) return folder;
    }
    OpenFolder opened;
    if (folder_part(location).empty()) {
        const std::string name = folder_path.empty() ? "./" : folder_path;
        opened = std::make_shared<const os::OutputFolder>(name, path);
    } else {
        const std::string base = path.substr(0, path.size() - location.size());
        opened = beneath_.open(open_folder(base, path, {}), location, path);
    }
    for (const auto& [known_path, folder] : folders_) {
        if (folder->identity().same_file(opened->identity())) opened = folder;
    }
    folders_.emplace_back(folder_path, opened);
    return opened;
}

std::vector<const os::OutputFolder*> Destinations::folders() const {
    std::vector<const os::OutputFolder*> all;
    for (const auto& [path, folder] : folders_) {
        if (std::find(all.begin(), all.end(), folder.get()) == all.end()) {
            all.push_back(folder.get());
        }
    }
    return all;
}

}  // namespace onnxmap::save
