#include "save/append_bytes.hpp"

#include <cerrno>
#include <exception>

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
                              ByteView bytes) {
    os::AppendFile file = open_to_append(path);
    const os::FileStatus status = file.status();
    if (status.kind != os::FileKind::regular) {
        refuse("save.not_regular", path, " is not a regular file");
    }
    os::check_unchanged(path, known, status.identity);
    if (status.names > 1) {
        refuse("save.link", path,
               " has other hard links, and appending would change the file under all of its "
               "names; append to a copy");
    }
    if (bytes.empty()) return status.identity;
    const os::FileIdentity& before = status.identity;  // `known`, or a state that we made of it
    try {
        file.write(before.size, bytes);
    } catch (const FileError& failure) {
        restore(file, before, path, failure);
        throw;
    }
    const os::FileIdentity now = file.status().identity;
    if (now.size != before.size + bytes.size()) {
        refuse("file.changed", path, " was written to by another process meanwhile");
    }
    os::note_own_append(before, now);
    return now;
}

}  // namespace onnxmap::save
