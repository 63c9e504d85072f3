// Files that this process appended to. What was there before is still there, so models that have
// such a file open stay usable.
#pragma once

#include <cstddef>

#include "os/file_status.hpp"

namespace onnxmap::os {

/// The states of files that are remembered: the newest of all files together. They take some 2 MB.
/// A model that was loaded before more own appends than that is refused as changed, and must be
/// loaded again.
inline constexpr std::size_t kMostOwnStates = 10'000;

/// Notes that the file in the state `before` was appended to, which led to the state `after`.
void note_own_append(const FileIdentity& before, const FileIdentity& after);

/// Whether own appends alone lead from one state of a file to another, as far as they are
/// remembered.
[[nodiscard]] bool is_own_append(const FileIdentity& before, const FileIdentity& after);

}  // namespace onnxmap::os
