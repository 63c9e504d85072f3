// Extended attributes of files: labels of users and of the system, and access control lists (ACLs).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace onnxmap::os {

struct FileAttribute {
    std::string name;
    std::string value;
};

/// The attribute that has the ACL of a file.
inline constexpr const char* kAccessList = "system.posix_acl_access";

/// The attributes of a file that a file in its place should have, too: those of users, labels of
/// the system, and the ACL. What depends on the content stays behind: capabilities, signatures.
/// Nothing if the system cannot tell. On Linux, `descriptor` may be O_PATH; elsewhere it is unused.
[[nodiscard]] std::optional<std::vector<FileAttribute>> attributes_of(int descriptor);

/// See WriteCalls::set_attribute and WriteCalls::remove_attribute.
[[nodiscard]] int set_attribute(int file, const char* name, const void* value, std::size_t nbytes);
[[nodiscard]] int remove_attribute(int file, const char* name);

}  // namespace onnxmap::os
