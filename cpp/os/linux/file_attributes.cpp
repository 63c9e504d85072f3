#include "os/file_attributes.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace onnxmap::os {

namespace {

// What the kernel, or a tool of the administrator, has computed from the content.
constexpr std::array<std::string_view, 3> kOfContent = {"security.capability", "security.ima",
                                                        "security.evm"};

bool belongs_to_successor(std::string_view name) {
    if (std::ranges::find(kOfContent, name) != kOfContent.end()) return false;
    return name.starts_with("user.") || name.starts_with("security.") || name == kAccessList;
}

// Calls a function that returns a size for an empty buffer, until its answer fits.
template <class Call>
std::optional<std::string> read_all(Call&& call) {
    for (int i = 0; i < 8; ++i) {
        const ssize_t nbytes = call(nullptr, 0);
        if (nbytes < 0) return std::nullopt;
        std::string bytes(static_cast<std::size_t>(nbytes), '\0');
        if (nbytes == 0) return bytes;
        const ssize_t count = call(bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.resize(static_cast<std::size_t>(count));
            return bytes;
        }
        if (errno != ERANGE) return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<FileAttribute>> attributes_of(int descriptor) {
    // An O_PATH descriptor has no attributes of its own.
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const auto names = read_all([&](char* buffer, std::size_t nbytes) {
        return ::listxattr(path.c_str(), buffer, nbytes);
    });
    std::vector<FileAttribute> attributes;
    if (!names && errno == ENOTSUP) return attributes;
    if (!names) return std::nullopt;
    for (std::size_t at = 0; at < names->size();) {
        const std::string name = names->c_str() + at;
        at += name.size() + 1;
        if (!belongs_to_successor(name)) continue;
        auto value = read_all([&](char* buffer, std::size_t nbytes) {
            return ::getxattr(path.c_str(), name.c_str(), buffer, nbytes);
        });
        if (value) {
            attributes.push_back({name, std::move(*value)});
        } else if (name == kAccessList) {
            return std::nullopt;
        }
    }
    return attributes;
}

int set_attribute(int file, const char* name, const void* value, std::size_t nbytes) {
    return ::fsetxattr(file, name, value, nbytes, 0);
}

int remove_attribute(int file, const char* name) { return ::fremovexattr(file, name); }

}  // namespace onnxmap::os
