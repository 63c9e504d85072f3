#include "save/name_checks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "contain/rooted_path.hpp"
#include "model/ep_context.hpp"
#include "os/folder.hpp"
#include "save/data_names.hpp"
#include "save/model_files.hpp"
#include "save/paths.hpp"
#include "save/save_plan.hpp"
#include "save/view_models.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

namespace {

[[noreturn]] void refuse_view(const char* why) { throw Error("save.view", why); }

[[noreturn]] void refuse_own(const std::string& path, const std::string& reason,
                             const char* advice = "") {
    throw Error("save.own_data", {"the save would replace ", Quoted(path), ", but ", reason,
                                  "; choose another name", advice});
}

bool is_among(const std::set<FileKey>& files, const std::string& path) {
    const auto key = key_at(path);
    return key && files.contains(*key);
}

// Whether a file is called MODEL.edited.data, MODEL.2.edited.data or the like.
bool is_named_as_side(std::string_view name, const std::string& model) {
    if (!name.starts_with(model) || !name.ends_with(kSideEnd)) return false;
    if (name.size() < model.size() + kSideEnd.size()) return false;
    name.remove_prefix(model.size());
    name.remove_suffix(kSideEnd.size());
    return name.empty() || (name[0] == '.' && is_number(name.substr(1)));
}

std::string has_values(const std::string& user) { return in_quotes(user) + " has values there"; }

}  // namespace

bool is_from_file(const model::Document& document) {
    return document.source().identity() && !document.store().external.folder().model_path.empty();
}

NameChecks::NameChecks(OpenFolder folder, std::string folder_path, Locations models,
                       std::vector<DocumentPtr> documents, const Callbacks& callbacks)
    : folder_(std::move(folder)),
      folder_path_(std::move(folder_path)),
      models_(std::move(models)),
      documents_(std::move(documents)),
      callbacks_(callbacks) {
    for (const DocumentPtr& each : documents_) {
        if (is_from_file(*each)) loaded_.insert(each->store().external.folder().model_path);
    }
}

std::string NameChecks::path_of(const std::string& location) const {
    return joined(folder_path_, location);
}

bool NameChecks::is_root_of(const model::Document& document) const {
    const std::string& root = document.store().external.root();
    if (root.empty()) return true;
    const auto found = object_at(root, os::AtLink::its_target);  // not of a URL
    return found && found->identity.same_file(folder_->identity());
}

std::string NameChecks::viewed_name(const model::Document& document,
                                    const std::string& model) const {
    if (!is_from_file(document)) refuse_view("only a model that was loaded from a file has a view");
    const std::string& loaded = document.store().external.folder().model_path;
    const os::FoundObject folder(parent_of(loaded), os::AtLink::its_target);
    if (!folder.status().identity.same_file(folder_->identity())) {
        refuse_view("a view must be in the folder of the model that it shows");
    }
    if (!source::guard_reads(document.source(), [&] { return viewed_file(document); }).empty()) {
        refuse_view("the model is a view already");
    }
    const auto replaced = object_at(path_of(model), os::AtLink::its_target);
    if (replaced && replaced->identity.same_file(
                        os::FoundObject(loaded, os::AtLink::its_target).status().identity)) {
        refuse_view("a view cannot replace the model that it shows");
    }
    return loaded.substr(folder_part(loaded).size());
}

std::string NameChecks::side_location(const std::string& model) {
    std::string first = model + std::string(kSideEnd);
    if (!has_object(*folder_, first)) return first;
    const Neighbours& others = this->others({model});
    const std::set<FileKey> own = data_of(model);
    for (int number = 1;; ++number) {
        std::string location =
            number == 1 ? first : model + "." + std::to_string(number) + std::string(kSideEnd);
        const bool is_own = is_among(own, path_of(location)) && others.is_free(path_of(location));
        if (is_own || !has_object(*folder_, location)) return location;
    }
}

std::map<std::uint64_t, std::string> NameChecks::new_locations(
    const std::map<std::uint64_t, std::string>& given, const std::string& model) {
    std::set<std::string> locations;
    for (const auto& [position, location] : given) {
        check_data_location(folder_path_, location);
        locations.insert(location);
    }
    const NewLocations named = copied_locations(locations, model);
    std::map<std::uint64_t, std::string> placed = given;
    for (auto& [position, location] : placed) take_new(location, named);
    return placed;
}

NewLocations NameChecks::copied_locations(const std::set<std::string>& locations,
                                          const std::string& model) {
    return locations_beside(model, *folder_, locations, free_for(model), callbacks_);
}

// Whether a location is free, or has a data file of the old model that no other model uses. The old
// model is read only if something is there.
IsFree NameChecks::free_for(const std::string& model) {
    return [this, model,
            own = std::optional<std::set<FileKey>>()](const std::string& location) mutable {
        const std::string path = path_of(location);
        if (!has_object(*folder_, location)) return true;
        if (!own) own = data_of(model);
        return is_among(*own, path) && others({location}).owner_of(path) == nullptr;
    };
}

bool NameChecks::may_lose_data(const model::Document& document) const {
    if (document.source().kind() == std::string_view("buffer")) return is_root_of(document);
    return is_from_file(document) && std::ranges::any_of(models_, [&](const std::string& model) {
               return replaces(model, document.store().external.folder().model_path);
           });
}

void NameChecks::check_replaced(const Locations& data, const LoadedFiles& files, bool overwrite) {
    for (const std::string& model : models_) {
        for (const auto& [path, file] : files) {
            if (file.used.nbytes() > 0 && replaces(model, path)) {
                refuse_own(path, "values of its tensors are there");
            }
        }
    }
    for (const std::string& location : data) {
        for (const std::string& model : loaded_) {
            if (replaces(location, model)) refuse_own(model, "the model was loaded from it");
        }
    }
    if (!data.empty()) check_ep_contexts(data);
    if (!overwrite) return;
    Locations replaced;
    for (const std::string& model : models_) {
        if (has_object(*folder_, model) && !is_model(path_of(model))) replaced.push_back(model);
    }
    const std::size_t not_models = replaced.size();
    replaced.insert(replaced.end(), data.begin(), data.end());
    const Neighbours& others = this->others(replaced);
    for (std::size_t i = 0; i < replaced.size(); ++i) {
        const std::string path = path_of(replaced[i]);
        const bool is_data = i >= not_models;
        if (const std::string* const user = others.user_of(path)) {
            refuse_own(path, has_values(*user),
                       is_data ? ", or save all models of that file together" : "");
        }
        if (is_data && others.owner_of(path) != nullptr) refuse_own(path, "that is a model");
    }
}

void NameChecks::for_each_ep_context_path(
    const std::function<void(const std::string&)>& visit) const {
    const auto visit_path = [&](const std::string&, const model::Attribute& attribute) {
        visit(path_of(std::string(model::location_of(attribute))));
    };
    for (const DocumentPtr& document : documents_) {
        source::guard_reads(document->source(),
                            [&] { model::for_each_ep_context_file(*document, visit_path); });
    }
}

void NameChecks::check_ep_contexts(const Locations& data) const {
    for_each_ep_context_path([&](const std::string& path) {
        for (const std::string& location : data) {
            if (replaces(location, path)) refuse_own(path, "an EPContext node names it");
        }
    });
}

void NameChecks::check_reachable(const LoadedFiles& files) const {
    std::vector<std::shared_ptr<const os::Folder>> of_links;
    for (const DocumentPtr& document : documents_) {
        const auto& real_folder = document->store().external.folder().model_folder;
        if (real_folder) of_links.push_back(real_folder);
    }
    if (of_links.empty()) return;
    const std::shared_ptr<const os::Folder> here = os::Folder::open_shared(folder_path_);
    for (const auto& [path, used] : files) {
        if (used.used.nbytes() == 0) continue;
        const auto file = used.source->file();
        if (!file || contain::rooted_path_of(*file, {&here, 1})) continue;
        if (!contain::rooted_path_of(*file, of_links)) continue;
        throw Error("save.link",
                    {Quoted(path),
                     " is a link out of the folder, and the new model, which is no link, could "
                     "not follow it; pass external_data=False or "
                     "external_data=\"weights.data\""});
    }
}

std::vector<std::string> NameChecks::unused_sides(const Locations& data, bool keeps) {
    std::vector<std::string> sides;
    for (const std::string& model : models_) {
        for (const std::string& side : sides_of(model)) {
            if (std::ranges::find(data, side) == data.end()) sides.push_back(path_of(side));
        }
    }
    if (sides.empty()) return {};
    std::set<FileKey> kept;
    for (const DocumentPtr& document : documents_) {
        if (!keeps) break;
        for (const std::string& location : external_locations(*document)) {
            if (const auto key = key_at(path_of(location))) kept.insert(*key);
        }
    }
    const Neighbours& others = this->others(models_);
    std::erase_if(sides, [&](const std::string& path) {
        return is_among(kept, path) || !others.is_free(path);
    });
    return sides;
}

UnusedBytes NameChecks::of_nobody_else(UnusedBytes unused) {
    for (const DocumentPtr& document : documents_) {
        if (!is_from_file(*document)) return {};
        const std::string& path = document->store().external.folder().model_path;
        const os::FileIdentity loaded = document->source().identity().value();
        if (os::find_same_file(*os::path_locator(path), loaded)) return {};
    }
    Folders folders;
    for (const auto& [path, nbytes] : unused) {
        if (nbytes > 0) folders.insert(parent_of(path));
    }
    const Neighbours& others = neighbours_in(std::move(folders));
    std::erase_if(unused, [&](const auto& file) {
        return others.owner_of(file.first) != nullptr || !others.unreadable.empty();
    });
    for_each_ep_context_path([&](const std::string& path) {
        const auto key = key_at(path);
        std::erase_if(unused, [&](const auto& file) { return key && key_at(file.first) == key; });
    });
    return unused;
}

// Whether a new file would replace the file at `path`, or the link to it.
bool NameChecks::replaces(const std::string& location, const std::string& path) const {
    // An error: the save fails for the same reason.
    const auto old = if_possible([&] { return folder_->look(location, location); });
    if (!old || !*old) return false;
    return std::ranges::any_of(std::array{os::AtLink::its_target, os::AtLink::the_link},
                               [&](os::AtLink at_link) {
                                   const auto found = object_at(path, at_link);
                                   return found && found->identity.same_file((*old)->identity);
                               });
}

// The models that stay, in the folders in which files are replaced, and among the loaded ones.
const Neighbours& NameChecks::others(const Locations& replaced) {
    Folders folders;
    for (const std::string& location : replaced) {
        if (has_object(*folder_, location)) folders.insert(parent_of(path_of(location)));
    }
    return neighbours_in(std::move(folders));
}

// The models that stay, in these folders and that of the models, and among the loaded ones.
const Neighbours& NameChecks::neighbours_in(Folders folders) {
    if (!folders.empty()) folders.insert(folder_path_);
    const auto known = neighbours_.find(folders);
    if (known != neighbours_.end()) return known->second;
    std::vector<std::string> but;
    for (const std::string& model : models_) but.push_back(path_of(model));
    Neighbours found;
    if (!folders.empty()) found = find_neighbours(folders, but, loaded_, callbacks_);
    return neighbours_.emplace(std::move(folders), std::move(found)).first->second;
}

// The data files of the old model of this name.
std::set<FileKey> NameChecks::data_of(const std::string& model) const {
    std::set<FileKey> keys;
    // Nothing: there is no model, or nobody can read it.
    const auto paths = if_possible([&] { return external_paths(path_of(model), callbacks_); });
    for (const std::string& path : paths.value_or(std::vector<std::string>())) {
        if (const auto key = key_at(path)) keys.insert(*key);
    }
    return keys;
}

// The side files of the old model of this name: regular files that it uses.
Locations NameChecks::sides_of(const std::string& model) const {
    Locations sides;
    try {
        const auto old = folder_->look(model, model);
        if (!old || old->kind == os::FileKind::link) return {};
        sides = folder_->names(model);
        std::erase_if(sides, [&](const std::string& name) {
            if (!is_named_as_side(name, model)) return true;
            const auto side = folder_->look(name, name);
            return !side || side->kind == os::FileKind::link;
        });
    } catch (const FileError&) {
        return {};
    }
    const std::set<FileKey> own = sides.empty() ? std::set<FileKey>() : data_of(model);
    std::erase_if(sides, [&](const std::string& name) { return !is_among(own, path_of(name)); });
    return sides;
}

}  // namespace onnxmap::save
