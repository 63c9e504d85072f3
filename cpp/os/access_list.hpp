// An access control list, as Linux stores it in an attribute of a file. If a file has one, the
// group's bits of its mode are the most that the entries of the list may grant, not the group's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace onnxmap::os {

/// The list for a file of another group, which must not get more than everybody has. Nothing if the
/// bytes are no such list.
[[nodiscard]] std::optional<std::string> for_another_group(std::string_view list);

/// The permissions of a file without the list: nobody gets more than the list grants. 0700 at most
/// if the bytes are no such list.
[[nodiscard]] unsigned without_list(std::string_view list, unsigned permissions);

}  // namespace onnxmap::os
