// A folder for one test, which is removed with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/bytes.hpp"
#include "os/lost_pages.hpp"

namespace onnxmap::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "onnxmap_XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), pattern);
        }
        path_ = pattern;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const {
        return (path_ / name).string();
    }

    /// Writes a file, and makes the folders above it. Returns its path.
    std::string write(std::string_view name, ByteView bytes) const {
        const std::filesystem::path full = path_ / name;
        std::filesystem::create_directories(full.parent_path());
        std::ofstream out(full, std::ios::binary);
        out.exceptions(std::ios::failbit | std::ios::badbit);
        const std::string_view text = as_text(bytes);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        return full.string();
    }
    std::string write(std::string_view name, std::string_view text) const {
        return write(name, as_bytes(text));
    }

  private:
    std::filesystem::path path_;
};

/// How many descriptors this process has open. The first guard of a process opens some that stay
/// open; this function opens them before it counts.
[[nodiscard]] inline std::size_t open_descriptors() {
    os::prepare_for_lost_pages();
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

/// How many mappings this process has of the file at `path`. The file itself may be gone.
[[nodiscard]] inline std::size_t mappings_of(std::string_view path) {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find(path) != std::string::npos) ++count;
    }
    return count;
}

}  // namespace onnxmap::test
