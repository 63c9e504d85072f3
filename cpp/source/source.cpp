#include "source/source.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "os/processors.hpp"
#include "source/mapped_file.hpp"
#include "source/owned_bytes.hpp"
#include "source/read_file.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::source {

std::unique_ptr<ByteFeed> Source::feed() { return std::make_unique<MemoryFeed>(bytes()); }

void Source::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    if (out.empty()) return;
    read_or_leave(*this, [&] { std::memcpy(out.data(), data() + offset, out.size()); });
}

// One read fills a huge page, so that no two threads touch the same page first. The gap costs about
// as much as a system call.
ReadHabits Source::read_habits() const { return {os::usable_cpus(), 2 << 20, 4 << 10}; }

std::shared_ptr<OwnedBytes> Source::writable_copy(std::uint64_t offset,
                                                  std::uint64_t nbytes) const {
    auto copy = std::make_shared<OwnedBytes>(nbytes);
    read(offset, copy->writable());
    return copy;
}

std::shared_ptr<const os::File> Source::file_if_any() const {
    return if_possible([&] { return file(); }).value_or(nullptr);
}

void Source::take_file(os::File file, std::shared_ptr<const os::FileLocator> locator) {
    size_ = file.size();
    path_ = file.path();
    file_ = std::make_unique<os::PooledFile>(std::move(file), std::move(locator));
}

void Source::check_unchanged(Timestamp since) const {
    if (since == kRecently) since = now() - check_interval();
    if (checked_at_.load(std::memory_order_relaxed) < since) check_unchanged();
}

void Source::check_unchanged() const {
    const Timestamp looked_at = now();
    // If the check throws, the next call checks again.
    checked_at_.store(Timestamp::min(), std::memory_order_relaxed);
    check_for_changes();
    checked_at_.store(looked_at, std::memory_order_relaxed);
}

std::shared_ptr<Source> open_source(os::File file, IoMode mode,
                                    std::shared_ptr<const os::FileLocator> locator) {
    if (mode == IoMode::read || (mode == IoMode::automatic && file.on_network())) {
        return std::make_shared<ReadFile>(std::move(file), std::move(locator));
    }
    try {
        return std::make_shared<MappedFile>(file, locator);
    } catch (const FileError&) {
        if (mode == IoMode::mmap) throw;
        return std::make_shared<ReadFile>(std::move(file), std::move(locator));
    }
}

}  // namespace onnxmap::source
