#include "save/folders_beneath.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "os/folder.hpp"

namespace onnxmap::save {

void refuse_location(const std::string& location, const std::string& reason) {
    Error error("ext.unsafe_path", {"the data file ", Quoted(location), " would be ", reason});
    error.location = location;
    throw error;
}

std::string folder_part(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

void FoldersBeneath::remove() noexcept {
    for (; !made_.empty(); made_.pop_back()) {
        made_.back().first->remove_folder(made_.back().second);
    }
}

OpenFolder FoldersBeneath::open(OpenFolder base, const std::string& location,
                                const std::string& path) {
    std::vector<OpenFolder> way{std::move(base)};
    os::for_each_component(folder_part(location), "/", [&](std::string_view name) {
        if (name.empty() || name == ".") return;
        if (name != "..") {
            way.push_back(enter(way.back(), std::string(name), location, path));
            return;
        }
        way.pop_back();
        if (way.empty()) throw FileError(EINVAL, path);
    });
    return way.back();
}

OpenFolder FoldersBeneath::enter(const OpenFolder& parent, const std::string& name,
                                 const std::string& location, const std::string& path) {
    const auto there = parent->look(name, path);
    if (there && there->kind == os::FileKind::link)
        refuse_location(location, "behind a symbolic link");
    if (!there && makes_missing_) {
        made_.emplace_back(parent, name);  // first: nothing may fail after the change itself
        try {
            if (!parent->make_folder(name, path)) made_.pop_back();  // somebody else was faster
        } catch (...) {
            made_.pop_back();
            throw;
        }
        if (sync_) parent->sync(path);
    }
    try {
        return std::make_shared<const os::OutputFolder>(*parent, name, path);
    } catch (const FileError& error) {
        const bool may_be_link = error.number == ELOOP || error.number == ENOTDIR;
        const auto now = may_be_link ? parent->look(name, path) : std::nullopt;
        if (now && now->kind == os::FileKind::link)
            refuse_location(location, "behind a symbolic link");
        throw;
    }
}

PlaceBeneath place_beneath(const std::string& folder_path, const std::string& location) {
    const std::string base = folder_path + (folder_path.ends_with('/') ? "" : "/");
    const std::string path = base + location;
    OpenFolder folder =
        FoldersBeneath(false, false)
            .open(std::make_shared<const os::OutputFolder>(base, path), location, path);
    return {std::move(folder), location.substr(folder_part(location).size()), path};
}

}  // namespace onnxmap::save
