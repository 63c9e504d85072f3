// What is open in this process, by what it is: found again as long as somebody holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace onnxmap::io {

template <class Key, class T>
class WeakRegistry {
  public:
    /// Null where nobody holds such a thing any more.
    [[nodiscard]] std::shared_ptr<T> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto known = entries_.find(key);
        return known == entries_.end() ? nullptr : known->second.lock();
    }

    void note(const Key& key, const std::shared_ptr<T>& value) {
        const std::lock_guard lock(mutex_);
        std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
        entries_[key] = value;
    }

  private:
    std::mutex mutex_;
    std::map<Key, std::weak_ptr<T>> entries_;
};

}  // namespace onnxmap::io
