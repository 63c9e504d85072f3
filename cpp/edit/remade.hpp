// What is derived from a document and made again after an edit, when it is next asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "model/document.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::edit {

/// Something that is derived from a document. Copies share what is made.
template <class T>
class Remade {
  public:
    using Made = std::shared_ptr<const T>;

    /// `make()`: makes it. Threads may share a handle: if several come at once, each makes one.
    template <class Make>
    Made get(const model::Document& document, Make&& make) const {
        const std::uint64_t count = document.edits().count();
        if (Made found = known(count)) return found;
        Made made = make();
        Made replaced = made;
        {
            const std::lock_guard lock(state_->mutex);
            replaced.swap(state_->made);  // released without the lock
            state_->made_at = count;
        }
        return made;
    }

    /// What was made after `count` edits of the document; null if nothing was.
    [[nodiscard]] Made known(std::uint64_t count) const {
        const std::lock_guard lock(state_->mutex);
        return state_->made_at == count ? state_->made : nullptr;
    }

  private:
    struct State {
        os::ForkSafeMutex mutex;
        Made made;
        std::uint64_t made_at = 0;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace onnxmap::edit
