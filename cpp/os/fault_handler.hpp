// The process's handler of SIGBUS, installed while there are guards: see fault_guard.hpp.
#pragma once

#include <cstdint>

namespace onnxmap::os {

/// Mends the fault at an address, so that the instruction can run again. Async-signal-safe.
using MendFault = bool (*)(std::uintptr_t address) noexcept;

/// Whether this thread may run into faults that can be mended. Async-signal-safe.
using MayFault = bool (*)() noexcept;

/// Installs the handler. If another library has installed its own handler since, puts ours in front
/// again; this is checked every 10 ms. Faults that are not ours go to the other handlers. Frequent
/// calls are cheap.
void use_fault_handler(MendFault mend, MayFault may_fault) noexcept;

/// Forces the next call of use_fault_handler to check again. For callers to which one more system
/// call does not matter.
void renew_fault_handler() noexcept;

}  // namespace onnxmap::os
