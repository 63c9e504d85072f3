// Puts the nodes of functions in the places of the nodes that call them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// Replaces the calls of functions, in all graphs and other functions, by the nodes of their
/// bodies, and removes these functions. `names`: names of functions, or "domain::name", with
/// ":overload" if there is one; nothing: all. Returns what was removed, so written. Before the
/// first edit, throws UnknownNames; Error `model.cycle` if a function calls itself; `limit.overlap`
/// if the result would be too large; `limit.depth`; `model.duplicate_name`; and
/// std::invalid_argument if imports of a domain contradict each other, or a call or a function
/// makes no sense.
std::vector<std::string> inline_functions(const model::Document& document,
                                          const std::optional<std::vector<std::string>>& names);

}  // namespace onnxmap::surgery
