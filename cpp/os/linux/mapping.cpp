#include "os/mapping.hpp"

#include <sys/mman.h>

namespace onnxmap::os {

const int kMapUnreserved = MAP_NORESERVE;

void advise_huge_pages(void* begin, std::uint64_t nbytes) noexcept {
    ::madvise(begin, nbytes, MADV_HUGEPAGE);
}

}  // namespace onnxmap::os
