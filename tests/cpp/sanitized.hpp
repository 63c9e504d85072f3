// Whether the tests run under a sanitizer, which makes them several times as slow.
#pragma once

namespace onnxmap::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace onnxmap::test
