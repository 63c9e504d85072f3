#include "save/append_bytes.hpp"

#include <cerrno>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "os/append_file.hpp"
#include "os/file.hpp"
#include "os/found_object.hpp"
#include "os/own_appends.hpp"
#include "save/refuse.hpp"

namespace onnxmap::save {

namespace {

os::AppendFile open_to_append(const std::string& path) {
    try {
        return os::AppendFile(path);
    } catch (const FileError& error) {
        // Systems have different numbers for a symbolic link.
        if (error.number == ENOENT || !os::link_target(path)) throw;
    }
    refuse("save.link", path,
           " is a symbolic link, and nothing is appended through one; pass the path of "
           "the file itself");
}

void wait_for_lock(os::AppendFile& file, const std::string& path, const std::function<void()>& look,
                   std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kPause{1};
    const Clock::time_point end = Clock::now() + patience;
    while (!file.try_lock()) {
        look();
        if (Clock::now() >= end) {
            refuse("save.locked", path,
                   " is locked by another program; append to it when that has ended");
        }
        std::this_thread::sleep_for(kPause);
    }
}

// Undoes a failed append.
void restore(os::AppendFile& file, const os::FileIdentity& known, const std::string& path,
             const std::exception& failure) {
    try {
        file.restore(known);
    } catch (const FileError& error) {
        Error not_restored("save.not_restored",
                           std::string(failure.what()) + ". Then " + quoted(path) +
                               " could not be cut to its old size: " + error.what() +
                               ". Cut it to " + std::to_string(known.size) + " bytes");
        not_restored.file = path;
        throw not_restored;
    }
}

}  // namespace

os::FileIdentity append_bytes(const std::string& path, const os::FileIdentity& known,
                              ByteView bytes, const std::function<void()>& look,
                              std::chrono::milliseconds patience) {
    os::AppendFile file = open_to_append(path);
    wait_for_lock(file, path, look, patience);
    const std::unique_lock locked(file, std::adopt_lock);
    const os::FileStatus status = file.status();
    if (status.kind != os::FileKind::regular) {
        refuse("save.not_regular", path, " is not a regular file");
    }
    os::check_same_state(path, known, status.identity);
    if (status.names > 1) {
        refuse("save.link", path,
               " has other hard links, and appending would change the file under all of its "
               "names; append to a copy");
    }
    if (bytes.empty()) return known;
    try {
        file.write(known.size, bytes);
    } catch (const FileError& failure) {
        restore(file, known, path, failure);
        throw;
    }
    const os::FileIdentity now = file.status().identity;
    if (now.size != known.size + bytes.size()) {
        refuse("file.changed", path, " was written to by another process meanwhile");
    }
    os::note_own_append(known, now);
    return now;
}

}  // namespace onnxmap::save
