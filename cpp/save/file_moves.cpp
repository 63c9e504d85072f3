#include "save/file_moves.hpp"

#include "save/destination.hpp"
#include "save/folder_locks.hpp"
#include "save/folders_beneath.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

void rename_file(const FileBeneath& from, const FileBeneath& to, const MoveOptions& options) {
    const PlaceBeneath old = place_beneath(from.folder, from.location);
    Destinations destinations(options.if_taken == IfTaken::replace_read_only, false, false);
    destinations.know(folder_part(old.path), old.folder);
    Destination place = destinations.find(joined(to.folder, to.location), AtOutputLink::replace,
                                          to.location, options.if_taken != IfTaken::refuse);
    FolderLocks locks;
    locks.take(destinations.folders(), options.look, kLockPatience, place.path);
    destinations.check_again(place);
    if (place.old) {
        old.folder->rename(old.name, *place.folder, place.name, place.path);
    } else {
        old.folder->rename_to_new(old.name, *place.folder, place.name, place.path);
    }
    for (const os::OutputFolder* folder : destinations.folders()) {
        if (options.sync) folder->sync(place.path);
    }
}

void remove_file(const FileBeneath& file, const MoveOptions& options) {
    const PlaceBeneath place = place_beneath(file.folder, file.location);
    FolderLocks locks;
    locks.take({place.folder.get()}, options.look, kLockPatience, place.path);
    place.folder->remove(place.name, place.path);
    if (options.sync) place.folder->sync(place.path);
}

}  // namespace onnxmap::save
