// Checks the text of an external location. Links are checked when the file is opened. The text
// alone gets the same verdict on every system, so a model is accepted on all systems or on none.
#pragma once

#include <string>
#include <string_view>

namespace onnxmap::contain {

/// Why a location is refused.
struct LocationFault {
    const char* code;  // "ext.unsafe_path" or "ext.location"
    std::string why;
    const char* advice = "";  // for whoever has the model
};

/// Throws LocationFault: `ext.unsafe_path` if the text, read as POSIX or as Windows reads it, leads
/// out of its folder or to anything but a plain file; `ext.location` if it does not name a file.
void check_location(std::string_view location);

/// Whether check_location() accepts `location`.
[[nodiscard]] bool is_safe_location(std::string_view location);

}  // namespace onnxmap::contain
