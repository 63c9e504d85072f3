#include "contain/rooted_path.hpp"

#include <string_view>

#include "base/error.hpp"

namespace onnxmap::contain {

namespace {

// The path of the folder without links. Empty if it is unknown, or if the folder had to be closed
// and another folder has its name now.
std::string real_path_of(const os::Folder& folder) {
    try {
        return folder.real_path();
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

std::optional<RootedPath> rooted_path_of(
    const os::File& file, std::span<const std::shared_ptr<const os::Folder>> folders) {
    const std::string path = os::path_of_open(file.descriptor());
    for (const auto& folder : folders) {
        std::string real = real_path_of(*folder);
        auto rest = os::path_below(path, real);
        if (!rest) continue;
        rest->remove_prefix(rest->starts_with('/') ? 1 : 0);
        if (!rest->empty()) return RootedPath{std::move(real), std::string(*rest)};
    }
    return std::nullopt;
}

}  // namespace onnxmap::contain
