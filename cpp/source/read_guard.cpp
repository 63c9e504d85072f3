#include "source/read_guard.hpp"

#include <cerrno>
#include <string>

namespace onnxmap::source {

void fail_for_lost_bytes(const Source& source) {
    source.check_unchanged();
    if (!source.path().empty()) throw FileError(EIO, source.path());
    const std::string path = source.mapped_path();
    Error error("file.changed", {(path.empty() ? "the file behind the buffer" : in_quotes(path)),
                                 " has lost bytes that were mapped"});
    error.file = path;
    throw error;
}

}  // namespace onnxmap::source
