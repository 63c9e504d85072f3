#include "save/paths.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "save/folders_beneath.hpp"

namespace onnxmap::save {

std::string parent_of(const std::string& path) {
    std::string folder = folder_part(path);
    if (folder.size() > 1) folder.pop_back();
    return folder;
}

std::string real_or_same(const std::string& path) {
    std::string real = os::real_path_of(path);
    return real.empty() ? path : real;
}

void take_new(std::string& location, const NewLocations& names) {
    const auto found = names.find(location);
    if (found != names.end()) location = found->second;
}

std::string place_of(const std::string& path) {
    return joined(real_or_same(parent_of(path)), path.substr(folder_part(path).size()));
}

bool has_object(const os::OutputFolder& folder, const std::string& location) {
    const auto found = if_possible([&] { return folder.look(location, location); });
    return found && *found;
}

std::optional<FileKey> key_at(const std::string& path, os::AtLink at_link) {
    const auto found = object_at(path, at_link);
    if (!found) return std::nullopt;
    return FileKey(found->identity.device, found->identity.inode, found->identity.born_ns);
}

}  // namespace onnxmap::save
