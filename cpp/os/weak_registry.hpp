// Objects that are open in this process, by a key that identifies them. An object is found as long
// as something holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

template <class Key, class T>
class WeakRegistry {
  public:
    /// The object with this key, or null if nothing holds one any longer.
    [[nodiscard]] std::shared_ptr<T> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto known = entries_.find(key);
        return known == entries_.end() ? nullptr : known->second.lock();
    }

    /// Remembers and returns `value`. If an object with the key is known already, returns that
    /// object.
    [[nodiscard]] std::shared_ptr<T> keep(const Key& key, std::shared_ptr<T> value) {
        const std::lock_guard lock(mutex_);
        if (entries_.size() >= next_sweep_) {
            std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
            next_sweep_ = 2 * entries_.size() + 16;
        }
        std::weak_ptr<T>& known = entries_[key];
        if (auto first = known.lock()) return first;
        known = value;
        return value;
    }

  private:
    ForkSafeMutex mutex_;
    std::map<Key, std::weak_ptr<T>> entries_;
    std::size_t next_sweep_ = 16;
};

}  // namespace onnxmap::os
