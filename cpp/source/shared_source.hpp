// The data files that are open in this process. Each is mapped once, whoever asks for it: two
// models with the same weights, or a thousand tensors of one pickle.
#pragma once

#include <memory>

#include "source/source.hpp"

namespace onnxmap::source {

/// Opens a source as open_source does. If the same file is open in the same state, returns its
/// source.
[[nodiscard]] std::shared_ptr<const Source> open_shared(
    os::File file, IoMode mode, std::shared_ptr<const os::FileLocator> locator);

}  // namespace onnxmap::source
