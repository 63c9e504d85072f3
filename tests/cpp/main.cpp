// The entry point of the unit tests. The cases are in the folders, one for each layer.
#include <cfloat>  // doctest needs it on macOS, and does not include it

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "os/page_ranges.hpp"

// ONNXMAP_TEST_PAGE_SIZE=65536 runs the cases as on a system with pages of that size.
int main(int argc, char** argv) {
    if (const char* const nbytes = std::getenv("ONNXMAP_TEST_PAGE_SIZE")) {
        onnxmap::os::use_page_size(std::strtoull(nbytes, nullptr, 10));
    }
    return doctest::Context(argc, argv).run();
}
