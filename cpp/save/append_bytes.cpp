#include "save/append_bytes.hpp"

#include <cerrno>
#include <exception>
#include <mutex>
#include <optional>

#include "base/error.hpp"
#include "os/append_file.hpp"
#include "os/file.hpp"
#include "os/found_object.hpp"
#include "os/output_folder.hpp"
#include "os/pooled_file.hpp"
#include "save/folders_beneath.hpp"

namespace onnxmap::save {

namespace {

os::AppendFile open_to_append(const std::string& path) {
    try {
        return os::AppendFile(path);
    } catch (const FileError& error) {
        // Systems have different numbers for a symbolic link.
        if (error.number == ENOENT || !os::link_target(path)) throw;
    }
    fail_at("save.link", path,
            " is a symbolic link, and nothing is appended through one; pass the path of "
            "the file itself");
}

// The folder of the file, so that no save replaces the file meanwhile. Nothing if this process may
// not open the folder, which an append itself does not need.
std::optional<os::OutputFolder> folder_of(const std::string& path) {
    const std::string folder = folder_part(path);
    try {
        return os::OutputFolder(folder.empty() ? "./" : folder, path);
    } catch (const FileError& error) {
        if (error.number != EACCES) throw;
        return std::nullopt;
    }
}

// Whoever opens the file by its name now must find what is appended.
void check_has_name(const std::string& path, const os::FileIdentity& file) {
    if (os::find_same_file(*os::path_locator(path), file)) return;
    fail_at("file.changed", path,
            " was replaced or moved meanwhile, and nothing is appended to the old file");
}

// Undoes a failed append.
void restore(os::AppendFile& file, const os::FileIdentity& known, const std::string& path,
             const std::exception& failure) {
    try {
        file.restore(known);
    } catch (const FileError& error) {
        Error not_restored("save.not_restored",
                           {failure.what(), ". Then ", Quoted(path),
                            " could not be cut to its old size: ", error.what(), ". Cut it to ",
                            known.size, " bytes"});
        not_restored.file = path;
        throw not_restored;
    }
}

}  // namespace

os::FileIdentity append_bytes(const std::string& path, const os::FileIdentity& known,
                              ByteView bytes, const AppendOptions& options) {
    const std::optional<os::OutputFolder> folder = folder_of(path);
    FolderLocks locks;
    if (folder) locks.take({&*folder}, options.look, options.patience, path);
    os::AppendFile file = open_to_append(path);
    wait_for_lock([&] { return file.try_lock(); }, options.look, options.patience, path);
    const std::unique_lock locked(file, std::adopt_lock);
    const os::FileStatus status = file.status();
    if (status.kind != os::FileKind::regular) {
        fail_at("save.not_regular", path, " is not a regular file");
    }
    os::check_same_state(path, known, status.identity);
    if (status.names > 1) {
        fail_at("save.link", path,
                " has other hard links, and appending would change the file under all of its "
                "names; append to a copy");
    }
    check_has_name(path, known);
    // To root no mode forbids anything.
    if (folder && folder->is_protected(path.substr(folder_part(path).size()), status)) {
        throw FileError(EACCES, path);
    }
    if (bytes.empty()) return known;
    try {
        file.write(known.size, bytes);
        if (options.sync) file.sync();
    } catch (const FileError& failure) {
        restore(file, known, path, failure);
        throw;
    }
    const os::FileIdentity now = file.status().identity;
    if (now.size != known.size + bytes.size()) {
        fail_at("file.changed", path, " was written to by another process meanwhile");
    }
    os::record_append(known, now);
    check_has_name(path, known);  // where nothing has locks, a save may have replaced the file
    return now;
}

}  // namespace onnxmap::save
