#include "os/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "os/descriptor_pool.hpp"
#include "os/file_lock.hpp"
#include "os/fork_safe_mutex.hpp"
#include "os/retried.hpp"
#include "os/write_calls.hpp"
#include "os/write_extras.hpp"

namespace onnxmap::os {

namespace {

constexpr int kAppendFlags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// Some file systems give a lock to the process, or have none. A child of a fork would keep the lock
// of its parent, but no fork happens while this is held.
constinit ForkSafeMutex appending;

timespec time_of(std::int64_t nanoseconds) noexcept {
    constexpr std::int64_t kPerSecond = 1'000'000'000;
    const std::int64_t rest = (nanoseconds % kPerSecond + kPerSecond) % kPerSecond;
    timespec time{};
    time.tv_sec = static_cast<time_t>((nanoseconds - rest) / kPerSecond);
    time.tv_nsec = static_cast<decltype(time.tv_nsec)>(rest);
    return time;
}

}  // namespace

AppendFile::AppendFile(std::string path)
    : descriptor_(open_descriptor([&] {
          return retried(
              [&] { return write_calls->open(AT_FDCWD, path.c_str(), kAppendFlags, 0); });
      })),
      path_(std::move(path)) {
    if (!descriptor_) throw FileError(errno, path_);
}

FileStatus AppendFile::status() const { return status_of(descriptor_.number(), path_); }

bool AppendFile::try_lock() {
    std::unique_lock alone(appending, std::try_to_lock);
    if (!alone) return false;
    if (!os::try_lock(descriptor_.number(), path_)) return false;
    static_cast<void>(alone.release());
    return true;
}

bool AppendFile::is_locked(const File& file) {
    const std::unique_lock alone(appending, std::try_to_lock);
    return !alone || is_file_locked(file.descriptor());
}

void AppendFile::unlock() noexcept {
    os::unlock(descriptor_.number());
    appending.unlock();
}

void AppendFile::write(std::uint64_t offset, ByteView bytes) {
    const int number = write_all_at(descriptor_.number(), bytes, offset);
    if (number != 0) throw FileError(number, path_);
}

void AppendFile::sync() {
    if (retried([&] { return write_calls->sync(descriptor_.number()); }) != 0) {
        throw FileError(errno, path_);
    }
}

void AppendFile::restore(const FileIdentity& before) {
    const auto size = static_cast<off_t>(before.size);
    if (retried([&] { return write_calls->cut(descriptor_.number(), size); }) != 0) {
        throw FileError(errno, path_);
    }
    timespec no_change{};
    no_change.tv_nsec = UTIME_OMIT;
    const std::array<timespec, 2> times = {no_change, time_of(before.modified_ns)};
    static_cast<void>(write_calls->set_times(descriptor_.number(), times.data()));
}

}  // namespace onnxmap::os
