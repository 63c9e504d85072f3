// Data files that are open in this process, each mapped once whoever asks for it: two models on the
// same weights, a thousand tensors out of one pickle.
#pragma once

#include <memory>

#include "source/source.hpp"

namespace onnxmap::source {

/// As open_source; or the source that is open already, if the file is the same in the same state.
[[nodiscard]] std::shared_ptr<const Source> open_shared(os::File file, IoMode mode,
                                                        std::shared_ptr<const os::WayToFile> way);

}  // namespace onnxmap::source
