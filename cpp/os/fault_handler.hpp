// The process's handler of SIGBUS, installed while there are guards: see fault_guard.hpp.
#pragma once

namespace onnxmap::os {

/// Installs the handler. If another library has installed its own handler since, puts ours in front
/// again; this is checked every 10 ms. Faults that are not ours go to the other handlers. Frequent
/// calls are cheap.
void use_fault_handler() noexcept;

/// Forces the next call of use_fault_handler to check again. For callers to which one more system
/// call does not matter.
void renew_fault_handler() noexcept;

}  // namespace onnxmap::os
