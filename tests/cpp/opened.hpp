// Opens files for sources, together with a way to open them again.
#pragma once

#include <memory>
#include <string>

#include "os/file.hpp"
#include "os/held_file.hpp"
#include "source/source.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::shared_ptr<source::Source> open_source(const std::string& path,
                                                                 source::IoMode mode) {
    return source::open_source(os::File::open(path), mode, os::way_by_path(path));
}

}  // namespace onnxmap::test
