// Whether the files of a loaded model are still the ones that were loaded, as far as a save needs
// it.
#pragma once

#include <string>

#include "source/source.hpp"

namespace onnxmap::save {

/// For a file to which a new model will refer. Throws Error `file.changed` if `path` does not lead
/// to the file of `source`, or if that has changed. Does nothing for a source without a local file.
void check_referred(const source::Source& source, const std::string& path);

/// For a loaded file that will be replaced. Throws Error `file.changed` if the file of `source` was
/// appended to since it was loaded, also if this process did so: the new file would lack that.
void check_not_appended(const source::Source& source, const std::string& path);

}  // namespace onnxmap::save
