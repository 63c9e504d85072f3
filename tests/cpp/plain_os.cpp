#include "plain_os.hpp"

namespace onnxmap::test {

#ifdef ONNXMAP_PLAIN_OS
const bool kPlainOs = true;
#else
const bool kPlainOs = false;
#endif

}  // namespace onnxmap::test
