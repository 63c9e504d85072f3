#include "io/source.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/file_copy.hpp"
#include "io/mapped_file.hpp"
#include "io/owned_bytes.hpp"

namespace onnxmap::io {

std::unique_ptr<ByteFeed> Source::feed() { return std::make_unique<MemoryFeed>(bytes()); }

void Source::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    if (!out.empty()) std::memcpy(out.data(), data_ + offset, out.size());
}

std::shared_ptr<OwnedBytes> Source::writable_copy(std::uint64_t offset,
                                                  std::uint64_t nbytes) const {
    auto copy = std::make_shared<OwnedBytes>(nbytes);
    read(offset, copy->writable());
    return copy;
}

std::shared_ptr<Source> open_source(File file, IoMode mode, Reopen reopen) {
    if (mode == IoMode::read || (mode == IoMode::automatic && file.on_network())) {
        return std::make_shared<FileCopy>(std::move(file));
    }
    try {
        return std::make_shared<MappedFile>(file, std::move(reopen));
    } catch (const FileError&) {
        if (mode == IoMode::mmap) throw;
        return std::make_shared<FileCopy>(std::move(file));
    }
}

}  // namespace onnxmap::io
