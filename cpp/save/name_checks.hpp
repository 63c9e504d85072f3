// What the files of a save may be called. A save must not replace a file that a model needs,
// whether it writes that model or leaves it. Names are looked up in the open folder of the models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "save/callbacks.hpp"
#include "save/data_names.hpp"
#include "save/external_use.hpp"
#include "save/folders_beneath.hpp"
#include "save/neighbours.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

using DocumentPtr = std::shared_ptr<const model::Document>;
using Locations = std::vector<std::string>;  // beneath the folder of the models

/// Whether a document was loaded from a local file.
[[nodiscard]] bool is_from_file(const model::Document& document);

class NameChecks {
  public:
    /// `folder`: at `folder_path`, which has no slash at its end. `models`: the names of the files
    /// that the documents are written to.
    NameChecks(OpenFolder folder, std::string folder_path, Locations models,
               std::vector<DocumentPtr> documents, const Callbacks& callbacks);

    [[nodiscard]] const Locations& models() const noexcept { return models_; }
    [[nodiscard]] std::string path_of(const std::string& location) const;

    /// Whether the external locations of a model lead to the same files in the folder.
    [[nodiscard]] bool is_root_of(const model::Document& document) const;

    /// The name of the file that a document was loaded from, for a view of it called `model`.
    /// Throws Error `save.view`, and FileError.
    [[nodiscard]] std::string viewed_name(const model::Document& document,
                                          const std::string& model) const;

    /// The name of the side file of `model`. It is free, or only the old model of that name uses
    /// it, so that the file is replaced with its model.
    [[nodiscard]] std::string side_location(const std::string& model);

    /// Where the data files that a message names go beside `model`, by the positions of tensors.
    /// Whoever made the message chose the names. One stays if it is plainly the name of a data
    /// file, and is free or belongs to a data file of the old model. Throws what
    /// check_data_location() throws.
    [[nodiscard]] std::map<std::uint64_t, std::string> new_locations(
        const std::map<std::uint64_t, std::string>& given, const std::string& model);

    /// The new locations of data files of a model that is saved as `model` from another folder, for
    /// those that cannot keep their own: see is_plain_location(), or the name is taken by something
    /// else than a data file of only the old model.
    [[nodiscard]] NewLocations copied_locations(const std::set<std::string>& locations,
                                                const std::string& model);

    /// Whether the new models may replace a model, and with it its data files. A model from a
    /// buffer, such as a text, does not know whether it had one of the names.
    [[nodiscard]] bool may_lose_data(const model::Document& document) const;

    /// Refuses to replace files that the new models need, or that models which stay would miss.
    /// These are the loaded models, and those in the folders of the replaced files. A file that
    /// cannot be read as a model does not count. A model may be replaced although views show it:
    /// they notice that. `data`: where data files will be written. Throws Error `save.own_data`.
    void check_replaced(const Locations& data, const LoadedFiles& files, bool overwrite);

    /// Refuses new models whose data files could be reached only because the loaded one was a link.
    /// A model in a cache of Hugging Face is a link to a folder of other names, and so are its
    /// data. Throws Error `save.link`.
    void check_reachable(const LoadedFiles& files) const;

    /// The paths of side files of models that will be replaced, if no model uses them after the
    /// save. `keeps`: the new models refer to data files of the loaded ones.
    [[nodiscard]] std::vector<std::string> unused_sides(const Locations& data, bool keeps);

    /// After the save: the files that nothing else may use. The loaded models use all of them if
    /// they are still there, or are in memory; their EPContext nodes use whole files. Other models
    /// are looked for only if a file has unused bytes.
    [[nodiscard]] UnusedBytes of_nobody_else(UnusedBytes unused);

    /// From now on, looks again for the models that stay. Within one step of a save, one look is
    /// enough.
    void check_again() { neighbours_.clear(); }

  private:
    using Folders = std::set<std::string>;

    void for_each_ep_context_path(const std::function<void(const std::string&)>& visit) const;
    void check_ep_contexts(const Locations& data) const;
    [[nodiscard]] bool replaces(const std::string& location, const std::string& path) const;
    [[nodiscard]] IsFree free_for(const std::string& model);
    [[nodiscard]] const Neighbours& others(const Locations& replaced);
    [[nodiscard]] const Neighbours& neighbours_in(Folders folders);
    [[nodiscard]] std::set<FileKey> data_of(const std::string& model) const;
    [[nodiscard]] Locations sides_of(const std::string& model) const;

    OpenFolder folder_;
    std::string folder_path_;
    Locations models_;
    std::vector<DocumentPtr> documents_;
    std::set<std::string> loaded_;  // the paths of the documents
    const Callbacks& callbacks_;
    std::map<Folders, Neighbours> neighbours_;  // by the folders that were searched
};

}  // namespace onnxmap::save
