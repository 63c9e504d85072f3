// Whether the files of a loaded model are still the ones that were loaded, as far as a save needs
// it.
#pragma once

#include <string>

#include "os/file_status.hpp"
#include "source/source.hpp"

namespace onnxmap::save {

/// For a file to which a new model will refer. Throws Error `file.changed` if `path` does not lead
/// to the file of `source`, or if that has changed. Does nothing for a source without a local file.
void check_referred(const source::Source& source, const std::string& path);

/// The state of the loaded file to which a view will refer: later than that of `source` if this
/// process appended to the file. Throws Error `file.changed` as check_referred() does.
[[nodiscard]] os::FileIdentity state_of_referred(const source::Source& source,
                                                 const std::string& path);

}  // namespace onnxmap::save
