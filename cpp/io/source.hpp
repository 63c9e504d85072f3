// Where bytes come from: one owner per file or buffer. Whatever is handed out, in C++ or as a
// NumPy array's base, shares it; the last one lets go of the mapping.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/byte_feed.hpp"
#include "base/bytes.hpp"

namespace onnxmap::io {

class File;
class OwnedBytes;

enum class IoMode { automatic, mmap, read };

/// Bytes at addresses data() .. data() + size(). Safe to share between threads.
class Source {
  public:
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    [[nodiscard]] const std::uint8_t* data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] ByteView bytes() const noexcept { return {data_, size_}; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }  // empty: a buffer

    /// Whether payload may be looked at where it is. Otherwise it is read when asked for.
    [[nodiscard]] virtual bool viewable() const noexcept { return true; }

    /// "mmap", "read" or "buffer".
    [[nodiscard]] virtual const char* kind() const noexcept = 0;

    /// For the one pass over the structure, before anything else looks at the bytes.
    [[nodiscard]] virtual std::unique_ptr<ByteFeed> feed();

    /// Makes sure that these bytes of ours are in memory, payload or not, and returns them.
    [[nodiscard]] virtual ByteView resident(ByteView bytes) const { return bytes; }

    /// Copies bytes from `offset` on into `out`.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// Bytes from `offset` on that may be written to without changing the source: copy-on-write
    /// pages where that is possible and worth a mapping, otherwise a copy.
    [[nodiscard]] virtual std::shared_ptr<OwnedBytes> writable_copy(std::uint64_t offset,
                                                                    std::uint64_t nbytes) const;

    [[nodiscard]] std::uint64_t offset_of(ByteView bytes) const noexcept {
        return static_cast<std::uint64_t>(bytes.data() - data_);
    }

  protected:
    Source() = default;

    const std::uint8_t* data_ = nullptr;
    std::uint64_t size_ = 0;
    std::string path_;
};

/// Opens a file once more: there may be thousands of data files, and a mapping needs no descriptor.
using Reopen = std::function<File()>;

/// Maps the file, or with IoMode::read prepares to read it piece by piece; automatic maps where
/// that works and is wise. A mapped file stays open besides, unless `reopen` says how to get it
/// again. Throws FileError.
[[nodiscard]] std::shared_ptr<Source> open_source(File file, IoMode mode, Reopen reopen = {});

}  // namespace onnxmap::io
