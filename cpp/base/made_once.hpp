// A value that is made on first use. There is no lock: if several threads come at once, each makes
// a value and the first one is kept. A lock, such as that of a local static variable or of
// std::call_once, would stay locked in the child of a fork if another thread held it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/no_copy.hpp"

namespace onnxmap {

/// Returns the value that `place` points to. If `place` is null, first sets it to the value of
/// make(), which returns a std::unique_ptr<T>. The value is never destroyed: arrays may outlive
/// everything else.
template <class T, class Make>
T& made_once(std::atomic<T*>& place, Make&& make) {
    if (T* known = place.load(std::memory_order_acquire)) return *known;
    auto made = std::forward<Make>(make)();
    T* first = nullptr;
    if (place.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) {
        return *made.release();
    }
    return *first;
}

/// The same with a default-constructed value: the only one of its type.
template <class T>
T& made_once() {
    static constinit std::atomic<T*> place = nullptr;
    return made_once(place, [] { return std::make_unique<T>(); });
}

/// The same for a value that lives as long as its MadeOnce.
template <class T>
class MadeOnce : NoCopy {
  public:
    ~MadeOnce() { delete made_.load(std::memory_order_acquire); }

    template <class Make>
    T& get(Make&& make) {
        return made_once(made_, std::forward<Make>(make));
    }

  private:
    std::atomic<T*> made_ = nullptr;
};

}  // namespace onnxmap
