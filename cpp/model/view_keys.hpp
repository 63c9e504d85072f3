// The metadata by which a view is known: a small model that refers to the values of another file.
#pragma once

#include <string_view>

namespace onnxmap::model {

/// What the metadata keys of a view begin with: `file`, `size` and `modified_ns` (nanoseconds) of
/// the file that it shows.
inline constexpr std::string_view kViewKeys = "onnxmap.view.";

}  // namespace onnxmap::model
