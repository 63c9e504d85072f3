// The models in the folders of some files, and the data files that they use.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "save/callbacks.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

struct Neighbours {
    std::map<FileKey, std::string> users;  // by data file, or link to it, a model that uses it
    std::multimap<FileKey, std::string> models;  // by file, the paths of the model
    /// A likely model that cannot be read, so nobody knows what it uses; empty: there is none. Of
    /// several, the one that was changed last.
    std::string unreadable;

    /// The path of a model that is known to use this file, or this link, as data; or null.
    [[nodiscard]] const std::string* user_of(const std::string& path) const;

    /// The path of a model that uses this file as data, or that is this file; or null.
    [[nodiscard]] const std::string* owner_of(const std::string& path) const;

    /// Whether no other model may use this side file, which a save has written. A model that cannot
    /// be read may do so if it is newer.
    [[nodiscard]] bool is_free(const std::string& side) const;
};

/// Finds the models in `folders`, the `*.onnx` files in the three folders above each, since these
/// may use files in their subfolders, and what they use. Models at the paths `but`, and links to
/// them, do not count. Those at `also` count whatever they are called.
[[nodiscard]] Neighbours find_neighbours(const std::set<std::string>& folders,
                                         const std::vector<std::string>& but,
                                         const std::set<std::string>& also,
                                         const Callbacks& callbacks);

}  // namespace onnxmap::save
