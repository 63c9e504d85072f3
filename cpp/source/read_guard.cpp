#include "source/read_guard.hpp"

#include <cerrno>

namespace onnxmap::source {

void fail_for_lost_bytes(const Source& source) {
    source.check_unchanged();
    if (!source.path().empty()) throw FileError(EIO, source.path());
    throw Error("file.changed", "the file behind the buffer has lost bytes that were mapped");
}

}  // namespace onnxmap::source
