// Files that this process appended to. What was there before is still there, so models that have
// such a file open stay usable.
#pragma once

#include "os/file_status.hpp"

namespace onnxmap::os {

/// Notes that the file in the state `before` was appended to, which led to the state `after`.
void note_own_append(const FileIdentity& before, const FileIdentity& after);

/// Whether own appends alone lead from one state of a file to another.
[[nodiscard]] bool is_own_append(const FileIdentity& before, const FileIdentity& after);

}  // namespace onnxmap::os
