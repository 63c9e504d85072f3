// Opens files for sources, together with a way to open them again.
#pragma once

#include <memory>
#include <string>

#include "os/file.hpp"
#include "os/pooled_file.hpp"
#include "source/source.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::shared_ptr<source::Source> open_source(const std::string& path,
                                                                 source::IoMode mode) {
    return source::open_source(os::File::open(path), mode, os::path_locator(path));
}

}  // namespace onnxmap::test
