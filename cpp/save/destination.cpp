#include "save/destination.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "os/found_object.hpp"
#include "save/refuse.hpp"

namespace onnxmap::save {

namespace {

// As many as Linux follows.
constexpr int kMostLinks = 40;

// The part of a path up to its name, with the slash; empty if there is none.
std::string folder_part(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Where the link at `path` leads, link by link. The last place may be free: a file is made there.
std::string follow_links(const std::string& path) {
    std::string place = path;
    for (int i = 0; i <= kMostLinks; ++i) {
        const auto target = os::link_target(place);
        if (!target) return place;
        place = target->starts_with('/') ? *target : folder_part(place) + *target;
    }
    throw FileError(ELOOP, path);
}

[[noreturn]] void refuse_special(const std::string& path) {
    refuse("save.not_regular", path,
           " is not a regular file, and is not replaced; choose another name");
}

// Links such as /dev/stdout are the system's: a file in place of one would break other programs.
void refuse_link_to_special(const std::string& path) {
    std::string place = path;
    for (int i = 0; i <= kMostLinks; ++i) {
        try {
            const os::FoundObject found(place, os::AtLink::the_link);
            const os::FileStatus& status = found.status();
            if (found.leads_to_kernel(status.identity.device, path)) refuse_special(path);
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

Destination Destinations::find(const std::string& path, AtOutputLink at_link) {
    if (path.empty()) throw FileError(ENOENT, path);
    if (path.find('\0') != std::string::npos) throw FileError(EINVAL, path);
    if (at_link != AtOutputLink::refuse) refuse_link_to_special(path);
    Destination found = look(at_link == AtOutputLink::follow ? follow_links(path) : path, path);
    judge(found, at_link);
    const auto is_same = [&](const Destination& other) {
        return other.name == found.name && other.folder == found.folder;
    };
    if (std::any_of(known_.begin(), known_.end(), is_same)) {
        refuse("save.same_path", path, " is the place of two output files; give each its own");
    }
    known_.push_back(found);
    return found;
}

Destination Destinations::look(const std::string& place, const std::string& path) {
    Destination found;
    found.folder_path = folder_part(place);
    found.name = place.substr(found.folder_path.size());
    found.path = path;
    found.folder = open_folder(found.folder_path.empty() ? "./" : found.folder_path, path);
    if (found.name.empty() || found.name == "." || found.name == "..") {
        throw FileError(EISDIR, path);
    }
    found.old = found.folder->look(found.name, path);
    return found;
}

void Destinations::judge(const Destination& found, AtOutputLink at_link) const {
    if (!found.old) return;
    if (!overwrite_) throw FileError(EEXIST, found.path);
    switch (found.old->kind) {
        case os::FileKind::regular:
            if (found.old->is_protected && !replace_read_only_) throw FileError(EACCES, found.path);
            return;
        case os::FileKind::folder: throw FileError(EISDIR, found.path);
        case os::FileKind::link:
            if (at_link == AtOutputLink::replace) return;
            refuse("save.link", found.path,
                   " is a symbolic link, and no data file is written there; remove the link or "
                   "choose another name");
        case os::FileKind::other: refuse_special(found.path);
    }
}

std::shared_ptr<const os::OutputFolder> Destinations::open_folder(const std::string& folder_path,
                                                                  const std::string& path) {
    for (const OpenFolder& known : folders_) {
        if (known.path == folder_path) return known.folder;
    }
    auto opened = std::make_shared<const os::OutputFolder>(folder_path, path);
    for (const OpenFolder& known : folders_) {
        if (known.folder->identity().same_file(opened->identity())) opened = known.folder;
    }
    folders_.push_back({folder_path, opened});
    return opened;
}

}  // namespace onnxmap::save
