// A page cache that keeps exactly what it is told to keep, for the files that a test names. The
// kernel's own may evict a page at any moment, bring more than was asked for, or keep what it was
// advised to drop; a test of what onnxmap asks for must not depend on that.
//
// The calls about the page cache (posix_fadvise, madvise, mincore, preadv2) are defined in
// fake_page_cache.cpp and so replace those of the C library in this program.
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

    /// What the kernel may do unasked.
    struct Kernel {
        std::uint64_t before = 0;  // bytes before a missing page, read when it is touched
        std::uint64_t after = 0;   // bytes behind that page, read ahead
        std::uint64_t piece = 0;   // bytes that are only dropped together; 0: single pages
        bool populates = true;     // it knows MADV_POPULATE_READ
    };

    /// Takes over the calls about this file, without a page of it in the cache.
    explicit FakePageCache(const std::string& path) : FakePageCache(path, Kernel{}) {}
    FakePageCache(const std::string& path, Kernel kernel);
    ~FakePageCache();
    FakePageCache(const FakePageCache&) = delete;
    FakePageCache& operator=(const FakePageCache&) = delete;

    /// Pages of these bytes come into the cache, as if another process had read them.
    void bring(std::uint64_t begin, std::uint64_t end);
    /// Pages before `offset` leave the cache as soon as somebody asks whether one behind it is
    /// there.
    void evict_before(std::uint64_t offset);
    /// Reads a byte of each page of the mapping, as the reader of a view does.
    void touch(const source::Source& source, std::uint64_t begin, std::uint64_t end);

    /// The bytes of whole pages in the cache, and of those that this process has mapped.
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
