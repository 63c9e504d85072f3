// The process's handler of SIGBUS, as long as there are guards: see fault_guard.hpp.
#pragma once

#include <cstdint>

namespace onnxmap::os {

/// Mends the fault at an address, so that the instruction can run again. Async-signal-safe.
using MendFault = bool (*)(std::uintptr_t address) noexcept;

/// Whether this thread may run into faults that can be mended. Async-signal-safe.
using MayFault = bool (*)() noexcept;

/// Installs the handler, or puts it in front again where another library has installed its own
/// since, looking for that every 10 ms. Faults that are not ours go to the others. Cheap to call
/// often.
void use_fault_handler(MendFault mend, MayFault may_fault) noexcept;

/// Has the next call of use_fault_handler look, where a system call more is of no account.
void renew_fault_handler() noexcept;

}  // namespace onnxmap::os
