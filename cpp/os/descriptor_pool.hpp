// What is kept open between two uses. There may be thousands of data files and of models, and a
// process may have as few as 256 descriptors: the ones that were used last stay open, the others
// are closed and opened again when they are needed.
#pragma once

#include <cerrno>
#include <cstddef>
#include <list>
#include <memory>

#include "os/descriptor.hpp"

namespace onnxmap::os {

/// As many as are kept open by the whole process.
inline constexpr std::size_t kMostHeldOpen = 32;

/// One thing that has a descriptor. Safe to share between threads.
class HeldOpen {
  public:
    HeldOpen() = default;
    HeldOpen(const HeldOpen&) = delete;
    HeldOpen& operator=(const HeldOpen&) = delete;
    ~HeldOpen();

    /// What was kept, or null where it was closed since. It stays open while the result lives.
    [[nodiscard]] std::shared_ptr<const void> find();

    /// Closes what was not used for longest where there are too many.
    void keep(std::shared_ptr<const void> open);

  private:
    friend void close_held();

    std::shared_ptr<const void> open_;
    std::list<HeldOpen*>::iterator place_;  // where open_ is set
};

/// Closes all that is not in use right now.
void close_held();

/// A descriptor from `open()`, which gives -1 and sets errno where it fails; once more, with ours
/// closed, where the process has none left.
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
