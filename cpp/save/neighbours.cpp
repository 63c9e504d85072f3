#include "save/neighbours.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/error.hpp"
#include "save/model_files.hpp"

namespace onnxmap::save {

namespace {

constexpr int kLevelsAbove = 3;

std::int64_t changed_at(const std::string& path) {
    return path.empty() ? -1 : os::last_change_of(path).value_or(0);
}

// `counts`: also a model that cannot be read, which may use any file.
void add(Neighbours& neighbours, const std::string& path, bool counts, const Callbacks& callbacks) {
    std::vector<std::string> used;
    try {
        used = external_paths(path, callbacks);
    } catch (const Failure& failure) {
        const auto* const error = dynamic_cast<const FileError*>(&failure);
        if ((error != nullptr && error->number == ENOENT) || !is_likely_model(path)) return;
        if (counts && changed_at(path) >= changed_at(neighbours.unreadable)) {
            neighbours.unreadable = path;
        }
    }
    for (const std::string& each : used) {
        for (const os::AtLink at_link : {os::AtLink::its_target, os::AtLink::the_link}) {
            if (const auto key = key_at(each, at_link)) neighbours.users.emplace(*key, path);
        }
    }
    if (const auto key = key_at(path)) neighbours.models.emplace(*key, path);
}

}  // namespace

const std::string* Neighbours::user_of(const std::string& path) const {
    const auto here = key_at(path, os::AtLink::the_link);
    const auto place = here ? users.find(*here) : users.end();
    return place == users.end() ? nullptr : &place->second;
}

const std::string* Neighbours::owner_of(const std::string& path) const {
    if (const std::string* const user = user_of(path)) return user;
    const auto here = key_at(path, os::AtLink::the_link);
    if (!here) return nullptr;
    const auto [first, last] = models.equal_range(*here);
    // A name may be gone, and the inode of its file used again at once.
    const auto there =
        std::find_if(first, last, [&](const auto& each) { return key_at(each.second) == here; });
    return there == last ? nullptr : &there->second;
}

bool Neighbours::is_free(const std::string& side) const {
    if (owner_of(side) != nullptr) return false;
    if (unreadable.empty()) return true;
    const auto changed = os::last_change_of(unreadable);
    const auto written = object_at(side, os::AtLink::its_target);
    return changed && written && *changed < written->identity.modified_ns;
}

Neighbours find_neighbours(const std::set<std::string>& folders,
                           const std::vector<std::string>& but, const std::set<std::string>& also,
                           const Callbacks& callbacks) {
    std::set<std::string> searched;
    for (const std::string& folder : folders) searched.insert(real_or_same(folder));
    std::set<std::string> with_those_above;
    for (std::string folder : searched) {
        for (int i = 0; i <= kLevelsAbove; ++i) {
            with_those_above.insert(folder);
            folder = parent_of(folder);
        }
    }
    std::set<std::string> left_out;
    for (const std::string& path : but) left_out.insert(place_of(path));
    std::vector<std::string> paths;
    for (const std::string& folder : with_those_above) {
        for (const std::string& name :
             names_of_models(folder, searched.contains(folder), callbacks)) {
            paths.push_back(joined(folder, name));
        }
    }
    for (const std::string& path : also) paths.push_back(place_of(path));
    Neighbours neighbours;
    std::set<std::string> seen;
    for (const std::string& path : paths) {
        if (!seen.insert(path).second || left_out.contains(path) ||
            left_out.contains(real_or_same(path))) {
            continue;
        }
        const auto status = object_at(path, os::AtLink::its_target);
        if (!status || status->kind != os::FileKind::regular) continue;
        add(neighbours, path, searched.contains(parent_of(path)), callbacks);
    }
    return neighbours;
}

}  // namespace onnxmap::save
