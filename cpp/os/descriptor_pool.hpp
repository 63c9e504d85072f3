// Descriptors that stay open between two uses. There may be thousands of data files and models, and
// a process may have as few as 256 descriptors. The most recently used ones stay open; the others
// are closed and opened again on demand.
// With 32 of them, a process that may have 64 descriptors reads a model with 1,000 data files,
// mapped or read.
#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>

#include "base/no_copy.hpp"
#include "os/descriptor.hpp"

namespace onnxmap::os {

/// The most descriptors that the whole process keeps open.
inline constexpr std::size_t kMostHeldOpen = 32;

/// One object that has a descriptor. Safe to share between threads.
class PooledDescriptor : NoCopy {
  public:
    ~PooledDescriptor();

    /// The kept object, or null if it was closed since. It stays open while the result lives.
    [[nodiscard]] std::shared_ptr<const void> find();

    /// Keeps the object open. If there are too many, closes the least recently used one.
    void keep(std::shared_ptr<const void> open);

  private:
    friend void close_held();

    std::shared_ptr<const void> open_;  // set if the pool has this object
};

/// Closes all kept objects that are not in use now.
void close_held();

/// A descriptor from `open()`, which returns -1 and sets errno on failure. If the process has no
/// descriptor left, closes the kept ones and tries once more.
template <class Open>
[[nodiscard]] Descriptor open_descriptor(Open&& open) {
    Descriptor opened(open());
    if (!opened && (errno == EMFILE || errno == ENFILE)) {
        close_held();
        opened = Descriptor(open());
    }
    return opened;
}

}  // namespace onnxmap::os
