// Thread-local memory that is there before a thread first touches it.
#pragma once

#include <cstddef>  // of the C library, which then says whether it is glibc

// Puts a variable into the first block of thread-local memory, because a signal handler must not
// allocate it. (musl has no such block for libraries that are loaded later.)
#ifdef __GLIBC__
#define ONNXMAP_EARLY_TLS [[gnu::tls_model("initial-exec")]]
#else
#define ONNXMAP_EARLY_TLS
#endif
