#include "os/mapping.hpp"

namespace onnxmap::os {

const int kMapUnreserved = 0;

void advise_huge_pages(void*, std::uint64_t) noexcept {}

}  // namespace onnxmap::os
