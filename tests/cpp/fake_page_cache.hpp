// A page cache for the files that a test names. It keeps exactly the pages that it is told to keep.
// The kernel's own cache may evict a page at any moment, bring more pages than requested, or keep
// pages that it was advised to drop. A test of onnxmap's requests must not depend on that.
//
// The calls about the page cache (posix_fadvise, madvise, mincore, preadv2) are defined in
// fake_page_cache.cpp. In this program they replace those of the C library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "source/source.hpp"

namespace onnxmap::test {

class FakePageCache {
  public:
    enum class What {
        asked,     // POSIX_FADV_WILLNEED, MADV_WILLNEED
        mapped,    // MADV_POPULATE_READ
        released,  // MADV_DONTNEED
        dropped,   // POSIX_FADV_DONTNEED
    };
    struct Request {
        What what;
        std::uint64_t begin;
        std::uint64_t end;

        [[nodiscard]] bool operator==(const Request&) const = default;
    };

    /// What the kernel may do on its own.
    struct Kernel {
        std::uint64_t before = 0;  // bytes before a missing page that come with it
        std::uint64_t after = 0;   // bytes behind that page that come with it
        std::uint64_t piece = 0;   // bytes that are dropped only together; 0: single pages
    };

    /// Takes over the calls about this file. None of its pages is in the cache.
    explicit FakePageCache(const std::string& path) : FakePageCache(path, Kernel{}) {}
    FakePageCache(const std::string& path, Kernel kernel);
    ~FakePageCache();
    FakePageCache(const FakePageCache&) = delete;
    FakePageCache& operator=(const FakePageCache&) = delete;

    /// Puts the pages of these bytes into the cache, as another process that reads them does.
    void bring(std::uint64_t begin, std::uint64_t end);
    /// Reads a byte of each page of the mapping, like the reader of a view.
    void touch(const source::Source& source, std::uint64_t begin, std::uint64_t end);

    /// The number of bytes in whole pages that are in the cache, or that this process has mapped.
    [[nodiscard]] std::uint64_t held(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] std::uint64_t mapped(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] std::vector<bool> pages_held() const;

    /// All requests so far, in order.
    [[nodiscard]] std::vector<Request> requests() const;
    /// The requests of one kind, with neighbours joined.
    [[nodiscard]] std::vector<Request> joined(What what) const;

    class State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace onnxmap::test
