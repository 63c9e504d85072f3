// A file without pages in the page cache; see fake_page_cache.hpp.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "fake_page_cache.hpp"
#include "opened.hpp"
#include "source/page_cache.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::uint64_t page() { return os::page_size(); }

/// No byte is 0. A mapped page with zeros is therefore not a page of the file.
[[nodiscard]] inline Bytes bytes_of(std::size_t count) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(1 + i % 251);
    return bytes;
}

struct ColdFile {
    ColdFile(std::uint64_t nbytes, source::IoMode mode)
        : bytes(bytes_of(nbytes)),
          path(folder.write("f", ByteView(bytes))),
          cache(path),
          source(open_source(path, mode)) {}

    /// Puts the pages first .. last into the cache.
    void bring(std::uint64_t first, std::uint64_t last) {
        cache.bring(first * page(), last * page());
    }

    [[nodiscard]] std::uint64_t held() const { return cache.held(0, bytes.size()); }

    /// Whether the source gives the right value of every byte.
    [[nodiscard]] bool reads_right() const {
        Bytes found(bytes.size());
        source->read(0, found);
        return found == bytes;
    }

    TemporaryFolder folder;
    Bytes bytes;
    std::string path;
    FakePageCache cache;
    std::shared_ptr<source::Source> source;
};

}  // namespace onnxmap::test
