// Files opened the way that sources want them: with a way to open them again.
#pragma once

#include <memory>
#include <string>

#include "io/file.hpp"
#include "io/held_file.hpp"
#include "io/source.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::shared_ptr<io::Source> open_source(const std::string& path,
                                                             io::IoMode mode) {
    return io::open_source(io::File::open(path), mode, io::way_by_path(path));
}

}  // namespace onnxmap::test
