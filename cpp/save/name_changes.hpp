// The names that a save has changed so far, so that it can undo them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "os/new_file.hpp"
#include "save/destination.hpp"

namespace onnxmap::save {

/// The functions that change a name throw FileError, and then have changed nothing.
class NameChanges {
  public:
    enum class Aside {
        moved,   // the old file gets another name instead of its own
        linked,  // it gets a second name, so that its own never disappears; without hard links, it
                 // is moved
    };
    void set_aside(const Destination& place, Aside how);

    /// Gives the new file its name. Throws EEXIST if the name is taken and not `may_replace`.
    void put(const Destination& place, os::NewFile& file, bool may_replace);

    /// Undoes all changes, the last one first. A file that another process has put under one of the
    /// names meanwhile stays: if an old file had the name, that is a failure. If a step fails,
    /// leaves the earlier ones, since undoing them could mix old files with new ones, and throws
    /// Error `save.not_restored`. `reason` is the text of the failure that led here.
    void undo(const std::string& reason);

    /// Keeps all changes. Removes the old files, and returns the paths of those that could not be
    /// removed.
    [[nodiscard]] std::vector<std::string> commit();

  private:
    struct Change {
        enum class Kind { moved_aside, linked_aside, put };

        Kind kind;
        const Destination* place;
        std::string aside;        // the other name of the old file
        os::FileIdentity made{};  // the new file that was put
    };

    template <class Act>
    void record(Change change, Act&& act);
    void undo_last() const;
    void undo_put(const Change& change) const;

    std::vector<Change> changes_;
};

}  // namespace onnxmap::save
