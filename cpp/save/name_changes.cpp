#include "save/name_changes.hpp"

#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::save {

template <class Act>
void NameChanges::record(Change change, Act&& act) {
    changes_.push_back(std::move(change));  // first: nothing may fail after the change itself
    try {
        act(changes_.back());
    } catch (...) {
        changes_.pop_back();
        throw;
    }
}

void NameChanges::move_aside(const Destination& place) {
    record(
        {Change::Kind::moved_aside, &place, os::unique_name(place.name, os::kAsideEnd), {}},
        [&](const Change& change) { place.folder->rename(place.name, change.aside, place.path); });
}

void NameChanges::keep_aside(const Destination& place) {
    record({Change::Kind::linked_aside, &place, os::unique_name(place.name, os::kAsideEnd), {}},
           [&](Change& change) {
               if (place.folder->link(place.name, change.aside, place.path)) return;
               place.folder->rename(place.name, change.aside, place.path);
               change.kind = Change::Kind::moved_aside;
           });
}

void NameChanges::put(const Destination& place, os::NewFile& file, bool may_replace) {
    record({Change::Kind::put, &place, {}, file.identity()},
           [&](const Change&) { may_replace ? file.replace() : file.take_new_name(); });
}

void NameChanges::undo_put(const Change& change) const {
    const Destination& place = *change.place;
    const auto now = place.folder->identity_of(place.name, place.path);
    if (!now || !now->same_file(change.made)) return;
    for (const Change& earlier : changes_) {
        if (earlier.kind != Change::Kind::linked_aside || earlier.place != change.place) continue;
        // At no moment the name is free.
        place.folder->rename(earlier.aside, place.name, place.path);
        return;
    }
    place.folder->remove(place.name, place.path);
}

void NameChanges::undo_last() const {
    const Change& change = changes_.back();
    const auto& [folder, name, path] =
        std::tie(change.place->folder, change.place->name, change.place->path);
    if (change.kind == Change::Kind::put) {
        undo_put(change);
        return;
    }
    if (change.kind == Change::Kind::linked_aside) {
        const auto aside = folder->identity_of(change.aside, path);
        if (!aside) return;  // the file was put back in place of the new one
        const auto now = folder->identity_of(name, path);
        if (now && now->same_file(*aside)) {
            folder->remove(change.aside, path);
            return;
        }
    }
    folder->rename_to_new(change.aside, *folder, name, path);
}

void NameChanges::undo(const std::string& reason) {
    try {
        for (; !changes_.empty(); changes_.pop_back()) undo_last();
    } catch (const FileError& error) {
        std::string message = reason +
                              ". Then the old files could not be put back: " + error.what() +
                              ". They are kept as ";
        const char* between = "";
        for (const std::string& old : old_files()) message += std::exchange(between, ", ") + old;
        Error failure("save.not_restored", message);
        failure.file = error.path;
        throw failure;
    }
}

std::vector<std::string> NameChanges::commit() {
    std::vector<std::string> left_over;
    for (const Change& change : std::exchange(changes_, {})) {
        if (change.aside.empty()) continue;
        try {
            change.place->folder->remove(change.aside, change.place->path);
        } catch (const FileError&) {
            left_over.push_back(change.place->folder_path + change.aside);
        }
    }
    return left_over;
}

std::vector<std::string> NameChanges::old_files() const {
    std::vector<std::string> paths;
    for (const Change& change : changes_) {
        if (!change.aside.empty())
            paths.push_back(quoted(change.place->folder_path + change.aside));
    }
    return paths;
}

}  // namespace onnxmap::save
