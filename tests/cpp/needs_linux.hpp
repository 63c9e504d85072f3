// Cases about what Linux adds to POSIX. A build with the plain substitutes skips them, and ctest
// lists them as skipped with the reason. os/plain_os_test.cpp tests the substitutes.
#pragma once

#include <doctest/doctest.h>

#ifdef ONNXMAP_PLAIN_OS
#define ONNXMAP_NEEDS_LINUX(what)           \
    MESSAGE("skipped: needs Linux, " what); \
    return
#else
#define ONNXMAP_NEEDS_LINUX(what) static_cast<void>(0)
#endif
