#include "os/processors.hpp"

#include <sched.h>

#include <algorithm>

namespace onnxmap::os {

unsigned usable_cpus() noexcept {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace onnxmap::os
