// What the text of an external location may say. Links are the file system's to tell, when the file
// is opened; the text alone has one verdict on every system, so that a model has.
#pragma once

#include <string>
#include <string_view>

namespace onnxmap::tensor {

/// Why a location is refused.
struct LocationFault {
    const char* code;  // "ext.unsafe_path" or "ext.location"
    std::string why;
};

/// Throws LocationFault: `ext.unsafe_path` where the text leads out of its folder or to no plain
/// file, as POSIX or as Windows reads it; `ext.location` where it names no file.
void check_location(std::string_view location);

/// Whether check_location() accepts `location`.
[[nodiscard]] bool is_safe_location(std::string_view location);

}  // namespace onnxmap::tensor
