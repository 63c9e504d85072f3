#include "os/processors.hpp"

#include <algorithm>
#include <thread>

namespace onnxmap::os {

// All processors of the machine, if the library does not know better.
unsigned usable_cpus() noexcept { return std::max(std::thread::hardware_concurrency(), 1U); }

}  // namespace onnxmap::os
