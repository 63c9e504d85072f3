// The error about a file that a save does not write to.
#pragma once

#include <string>

#include "base/error.hpp"

namespace onnxmap::save {

/// Throws Error `code` about the file at `path`; its text is the quoted path and `reason`.
[[noreturn]] inline void refuse(const char* code, const std::string& path,
                                const std::string& reason) {
    Error error(code, quoted(path) + reason);
    error.file = path;
    throw error;
}

}  // namespace onnxmap::save
