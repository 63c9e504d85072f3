// The files that a model names: those of external data, and those of EPContext nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

/// The locations of the files, as the model has them. Opens no file.
[[nodiscard]] std::set<std::string> file_locations(const model::Document& document);

/// Each location in the order of the model, and the path of the file; empty if that is no local
/// file. Opens no file.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> file_paths(
    const model::Document& document);

/// Edits the model: replaces locations by new ones.
void rename_locations(const model::Document& document, const NewLocations& names);

/// Removes the locations of tensors that have values as well, which then count: so onnx's
/// convert_model_to_external_data leaves them. Returns the locations by the positions of the
/// tensors among all of the document. Throws Error `ext.*`; `tensor.*` if the values do not fit.
[[nodiscard]] std::map<std::uint64_t, std::string> take_locations(const model::Document& document);

}  // namespace onnxmap::save
