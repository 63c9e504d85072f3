// Replaces files atomically: models together with their data files.
//
// Every file is first written to a temporary file in its folder, `.NAME.XXXXXXXX.onnxmap-tmp`, and
// synced. Until all of them are complete, no name changes. Old files are never written to, so
// mappings of them, and sources of the new files that are these old files, stay valid.
//
// Names change under the locks of the folders, so saves and appends of several processes come one
// after another. What has the names is looked up again under the locks.
//
// docs/architecture/saving.md has the steps and what a crash after each of them leaves. If the name
// of a data file is taken, the old models are moved aside first, to NAME.XXXXXXXX.onnxmap-old,
// since an old model would read new data in between.
//
// A model that is missing cannot be loaded, so a crash is noticed, and an old model is never mixed
// with new data. If a step fails, all earlier ones are undone: the old files have their names again
// and the temporary files are gone.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "os/file_status.hpp"
#include "save/file_content.hpp"
#include "save/folder_locks.hpp"
#include "save/folders_beneath.hpp"
#include "save/write_content.hpp"

namespace onnxmap::save {

struct OutputFile {
    enum class Kind { model, data };

    std::string path;
    FileContent parts;
    Kind kind = Kind::model;
    std::string location = {};  // how `path` ends, beneath the folder of the models: no link is
                                // followed there, and missing folders are made
    bool may_replace = true;    // false: FileError EEXIST if the name is taken
};

/// A file that one of the models was loaded from, or was saved to before.
struct KnownFile {
    std::string path;
    os::FileIdentity state;
    bool keeps_others = true;  // another file at its path must not be replaced, either
};

struct SaveOptions {
    OpenFolder folder = {};          // of the models, if it is open already
    bool overwrite = true;           // false: FileError EEXIST if a name is taken
    bool replace_read_only = false;  // also files that their owner has protected
    bool follow_symlinks = false;    // of models: replace the target, not the link
    bool sync = true;                // wait until the disk has the files
    Progress progress = {};          // over the bytes of all files
    std::vector<std::string> no_longer_used =
        {};                             // files that are removed once the new ones are there
    std::vector<KnownFile> known = {};  // no model replaces one of them in another state
    /// Called when all temporary files are complete, and no name has changed. Throws if they must
    /// not get their names.
    std::function<void()> check_written = [] {};
    /// Called under the locks if another file than before has one of the names, or if files are no
    /// longer used. Returns those that nothing uses now. Throws if data files must stay.
    std::function<std::vector<std::string>()> check_again = {};
    std::function<void()> look = [] {};  // called while others have a lock; may throw
    std::chrono::milliseconds patience = kLockPatience;
};

struct SaveResult {
    ByteCounts nbytes;
    std::vector<KnownFile> models;  // as they are now
    /// Paths of old files that were moved aside and could not be removed.
    std::vector<std::string> left_over;
};

/// Makes or replaces all files, in any number of folders: the data files first, and then the models
/// in their order. A file gets the permissions of the file that it replaces, with its ACL; other
/// attributes, owner and group, too, if this process may set them. Other hard links of a replaced
/// file keep the old content.
///
/// Before anything is written, throws FileError EEXIST (see SaveOptions), EISDIR for a folder,
/// EACCES for a file without the owner's write bit, or that this process may not write to, and what
/// the system says of a path that cannot be used; Error `save.link` for a data file whose name is a
/// symbolic link, `ext.unsafe_path` for one in a folder that is one, `save.not_regular` for a
/// device or the like and for a link to one or into /proc, `save.same_path` if two files have the
/// same place, and `file.changed` if a model would replace a file of `known` in another state, or
/// another file in its place (see KnownFile): what somebody else wrote there would be lost.
/// Afterwards throws what write_content() throws, `save.locked` (see wait_for_lock()), FileError
/// with the path of the output file, and, if what has the names has changed meanwhile, all that it
/// throws before. All names are then what they were before, unless only the last sync of a folder
/// failed after a single model, without old data, replaced an old one: then the new files are in
/// place. If the names cannot be restored, throws Error `save.not_restored`, which names the files
/// that were moved aside.
[[nodiscard]] SaveResult save_files(std::span<const OutputFile> files,
                                    const SaveOptions& options = {});

}  // namespace onnxmap::save
