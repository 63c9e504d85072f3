// Whether the core has the plain substitutes for what Linux adds to POSIX, which plain_os_test.cpp
// tests.
#pragma once

namespace onnxmap::test {

extern const bool kPlainOs;

}  // namespace onnxmap::test

/// Ends a case about what Linux adds if the core does not have it.
#define ONNXMAP_NEEDS_LINUX(what)               \
    if (kPlainOs) {                             \
        MESSAGE("skipped: needs Linux, " what); \
        return;                                 \
    }
