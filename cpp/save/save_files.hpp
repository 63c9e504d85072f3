// Replaces files atomically: models together with their data files.
//
// Every file is first written to a temporary file in its folder, `.NAME.XXXXXXXX.onnxmap-tmp`, and
// synced. Until all of them are complete, no name changes. Old files are never written to, so
// mappings of them, and sources of the new files that are these old files, stay valid.
//
// docs/architecture.md, "Saving: how files are replaced", has the steps and what a crash after each
// of them leaves. If the name of a data file is taken, the old models are moved aside first, to
// NAME.XXXXXXXX.onnxmap-old, since an old model would read new data in between.
//
// A model that is missing cannot be loaded, so a crash is noticed, and an old model is never mixed
// with new data. If a step fails, all earlier ones are undone: the old files have their names again
// and the temporary files are gone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "save/parts.hpp"
#include "save/write_parts.hpp"

namespace onnxmap::save {

struct OutputFile {
    enum class Kind { model, data };

    std::string path;
    Parts parts;
    Kind kind = Kind::model;
};

struct SaveOptions {
    bool overwrite = true;           // false: FileError EEXIST if a name is taken
    bool replace_read_only = false;  // also files that their owner has protected
    bool follow_symlinks = false;    // of models: replace the target, not the link
    bool sync = true;                // wait until the disk has the files
    Progress progress = {};          // over the bytes of all files
    std::vector<std::string> no_longer_used =
        {};  // files that are removed once the new ones are there
};

struct SaveResult {
    ByteCounts nbytes;
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
/// symbolic link, `save.not_regular` for a device or the like and for a link to one or into /proc,
/// and `save.same_path` if two files have the same place. Afterwards throws what write_parts()
/// throws, and FileError with the path of the output file. All names are then what they were
/// before, unless only the last sync of a folder failed after a single model, without old data,
/// replaced an old one: then the new files are in place. If the names cannot be restored, throws
/// Error `save.not_restored`, which names the files that were moved aside.
[[nodiscard]] SaveResult save_files(std::span<const OutputFile> files,
                                    const SaveOptions& options = {});

}  // namespace onnxmap::save
