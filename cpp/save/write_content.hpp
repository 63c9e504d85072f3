// Writes the parts of a file in order, with little memory whatever the size of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/bytes.hpp"
#include "os/sink.hpp"
#include "save/file_content.hpp"

namespace onnxmap::save {

/// Called with the number of bytes that are written so far and of all bytes to write, after every
/// few MiB and at the end of each file. If it throws, so does the call that writes.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct ByteCounts {
    std::uint64_t written = 0;  // from memory, and zeros; without holes
    std::uint64_t copied = 0;   // from files, by the kernel or through a buffer
};

using os::Sink;

/// Passes bytes to a function in pieces of at most 1 MiB, as for a Python file that cannot seek.
class SinkFunction final : public Sink {
  public:
    explicit SinkFunction(std::function<void(ByteView)> take) : take_(std::move(take)) {}

    void write(ByteView bytes) override;

  private:
    std::function<void(ByteView)> take_;
};

/// Reads bytes of a source. A file is read by system calls, since touching a mapping would make its
/// pages memory of this process. Only the mapping is left if the descriptor was closed and cannot
/// be had again.
void read_source(const source::Source& source, std::uint64_t offset, std::span<std::uint8_t> out);

/// Writes all parts. Checks each source for changes before the first byte and after the last one.
/// Throws Error `file.changed`, FileError, os::Stopped, and what the sink and `progress` throw. The
/// sink then has some of the bytes.
ByteCounts write_content(const FileContent& parts, Sink& sink, const Progress& progress = {});

}  // namespace onnxmap::save
