// The files that a document was saved to, each in the state that the save left.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "os/file_status.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::model {

class SavedStates {
  public:
    void note(const std::string& path, const os::FileIdentity& state) {
        const std::lock_guard lock(mutex_);
        states_[path] = state;
    }
    [[nodiscard]] std::optional<os::FileIdentity> at(const std::string& path) const {
        const std::lock_guard lock(mutex_);
        const auto found = states_.find(path);
        return found == states_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    mutable os::ForkSafeMutex mutex_;
    std::map<std::string, os::FileIdentity> states_;
};

}  // namespace onnxmap::model
