#include "os/own_appends.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/made_once.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

namespace {

// The states that one file had, each made of the one before by an own append.
struct Chain {
    FileIdentity newest;
};

class Appends {
  public:
    void note(const FileIdentity& before, const FileIdentity& after) {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<Chain> chain = chain_of(before);
        if (!chain || chain->newest != before) chain = std::make_shared<Chain>();
        chain->newest = after;
        keep(before, chain);
        keep(after, chain);
    }

    [[nodiscard]] bool leads(const FileIdentity& before, const FileIdentity& after) {
        const std::lock_guard lock(mutex_);
        const std::shared_ptr<Chain> chain = chain_of(before);
        return chain && chain->newest == after;
    }

  private:
    [[nodiscard]] std::shared_ptr<Chain> chain_of(const FileIdentity& state) const {
        const auto found = chains_.find(state);
        return found == chains_.end() ? nullptr : found->second;
    }

    void keep(const FileIdentity& state, const std::shared_ptr<Chain>& chain) {
        if (chains_.insert_or_assign(state, chain).second) by_age_.push_back(state);
        if (by_age_.size() <= kMostOwnStates) return;
        chains_.erase(by_age_.front());
        by_age_.pop_front();
    }

    ForkSafeMutex mutex_;
    std::map<FileIdentity, std::shared_ptr<Chain>> chains_;  // by each of their states
    std::deque<FileIdentity> by_age_;                        // those states, the oldest first
};

Appends& appends() {
    constinit static std::atomic<Appends*> made = nullptr;
    return made_once(made);
}

}  // namespace

void note_own_append(const FileIdentity& before, const FileIdentity& after) {
    appends().note(before, after);
}

bool is_own_append(const FileIdentity& before, const FileIdentity& after) {
    return appends().leads(before, after);
}

}  // namespace onnxmap::os
