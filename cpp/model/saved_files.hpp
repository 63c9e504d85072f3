// The files that a document was saved to, each in the state that the save left.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "os/file_status.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::model {

/// A place is a path without links in its folder.
class SavedStates {
  public:
    void note(const std::string& place, const os::FileIdentity& state) {
        const std::lock_guard lock(mutex_);
        states_[place] = state;
    }
    [[nodiscard]] std::optional<os::FileIdentity> at(const std::string& place) const {
        const std::lock_guard lock(mutex_);
        const auto found = states_.find(place);
        return found == states_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    mutable os::ForkSafeMutex mutex_;
    std::map<std::string, os::FileIdentity> states_;
};

}  // namespace onnxmap::model
