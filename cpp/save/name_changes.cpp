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

void NameChanges::set_aside(const Destination& place, Aside how) {
    record({Change::Kind::linked_aside, &place, os::unique_name(place.name, os::kAsideEnd), {}},
           [&](Change& change) {
               const os::OutputFolder& folder = *place.folder;
               const bool is_linked = how == Aside::linked &&
                                      folder.link(place.name, folder, change.aside, place.path);
               if (is_linked) return;
               folder.rename(place.name, folder, change.aside, place.path);
               change.kind = Change::Kind::moved_aside;
           });
}

void NameChanges::put(const Destination& place, os::NewFile& file, bool may_replace) {
    record({Change::Kind::put, &place, {}, file.identity()},
           [&](const Change&) { may_replace ? file.replace() : file.take_new_name(); });
}

void NameChanges::undo_put(const Change& change) const {
    const Destination& place = *change.place;
    const auto now = place.folder->look(place.name, place.path);
    if (!now || !now->identity.same_file(change.made)) return;
    for (const Change& earlier : changes_) {
        if (earlier.kind != Change::Kind::linked_aside || earlier.place != change.place) continue;
        // At no moment the name is free.
        place.folder->rename(earlier.aside, *place.folder, place.name, place.path);
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
        const auto aside = folder->look(change.aside, path);
        if (!aside) return;  // the file was put back in place of the new one
        const auto now = folder->look(name, path);
        if (now && now->identity.same_file(aside->identity)) {
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
        for (const Change& each : changes_) {
            if (each.aside.empty()) continue;
            message +=
                std::exchange(between, ", ") + in_quotes(each.place->folder_path + each.aside);
        }
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

}  // namespace onnxmap::save
