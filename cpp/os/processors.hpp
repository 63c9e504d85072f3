// The processors that this process may use.
#pragma once

namespace onnxmap::os {

/// Processors that this process may run on; at least 1.
[[nodiscard]] unsigned usable_cpus() noexcept;

}  // namespace onnxmap::os
