// Whether the tests run under a sanitizer, which makes them several times as slow.
#pragma once

namespace onnxmap::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// ThreadSanitizer has nothing to see in a case of one thread: such a case in a file of several
// threads is left out with `* doctest::skip(kThreadSanitized)` if it takes seconds.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace onnxmap::test
