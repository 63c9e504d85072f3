// A mapped file of a few pages that a test can cut short and mend.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "memory_map.hpp"
#include "opened.hpp"
#include "plain_os.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

class MappedPages {
  public:
    /// Each byte of the first page is 1, of the second 2, and so on.
    explicit MappedPages(std::size_t pages) : pages_(pages) {
        path_ = folder_.write("pages", ByteView(bytes()));
        source_ = open_source(path_, source::IoMode::mmap);
    }

    [[nodiscard]] const source::Source& source() const noexcept { return *source_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] static std::size_t page() noexcept {
        return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    }

    /// A byte in the middle of a page, read from the mapping. Meanwhile a fault in another thread
    /// may replace the page, as intended. ThreadSanitizer would report that as a race.
    [[nodiscard, gnu::no_sanitize_thread]] int byte_of(std::size_t number) const {
        return *static_cast<const volatile std::uint8_t*>(source_->data() + number * page() +
                                                          page() / 2);
    }

    /// The number of mappings that make up the file's addresses: one, unless there are zeros among
    /// them.
    [[nodiscard]] std::size_t parts() const {
        const auto begin = reinterpret_cast<std::uintptr_t>(source_->data());
        const std::vector<Mapping> all = mappings();
        return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Mapping& one) {
            return one.begin < begin + source_->size() && begin < one.end;
        }));
    }
    /// Whether the file is mapped once, as a whole, and no page of it is kept elsewhere. The plain
    /// substitute cannot map lost pages again, but it takes the zeros away.
    [[nodiscard]] bool is_whole() const {
        return kPlainOs ? source_->guarded_region().lost->covered.load() == 0
                        : parts() == 1 && mappings_of(path_) == 1;
    }

    void cut(std::size_t pages) const { std::filesystem::resize_file(path_, pages * page()); }

    /// Gives the file its first bytes and its first time of modification again.
    void mend() const {
        const Bytes content = bytes();
        // Never empty in between: file systems write a file that was emptied to the disk at once.
        const os::Descriptor file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        const ssize_t written = ::pwrite(file.number(), content.data(), content.size(), 0);
        const std::int64_t modified = source_->identity()->modified_ns;
        const timespec times[] = {{0, UTIME_OMIT},
                                  {modified / 1'000'000'000, modified % 1'000'000'000}};
        if (written != static_cast<ssize_t>(content.size()) ||
            ::futimens(file.number(), times) != 0) {
            throw std::system_error(errno, std::generic_category(), path_);
        }
    }

  private:
    [[nodiscard]] Bytes bytes() const {
        Bytes bytes(pages_ * page());
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<std::uint8_t>(1 + i / page());
        }
        return bytes;
    }

    std::size_t pages_;
    TemporaryFolder folder_;
    std::string path_;
    std::shared_ptr<source::Source> source_;
};

}  // namespace onnxmap::test
