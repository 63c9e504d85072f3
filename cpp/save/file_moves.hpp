// What a move does to single files, under the locks that a save takes.
#pragma once

#include <functional>
#include <string>

namespace onnxmap::save {

/// A file by a folder and a location beneath it. A link on the way is an error.
struct FileBeneath {
    std::string folder;
    std::string location;
};

enum class IfTaken { refuse, replace, replace_read_only };

struct MoveOptions {
    IfTaken if_taken = IfTaken::refuse;
    bool sync = true;            // return when the disk has the names
    std::function<void()> look;  // see wait_for_lock()
};

/// Gives a file another name on the same file system. Throws what Destinations::find() throws,
/// Error `save.locked` and FileError, also if the file has its new name and only syncing failed.
void rename_file(const FileBeneath& from, const FileBeneath& to, const MoveOptions& options);

/// Removes a file. Throws Error `save.locked` and FileError.
void remove_file(const FileBeneath& file, const MoveOptions& options);

}  // namespace onnxmap::save
