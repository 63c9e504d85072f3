#include "model/lives.hpp"

#include <utility>

#include "onnx/message.hpp"

namespace onnxmap::model {

Lives::LifePtr Lives::find(const std::uint8_t* key) const {
    const auto found = lives_.find(key);
    return found == lives_.end() ? nullptr : found->second.lock();
}

Lives::LifePtr Lives::add(ByteView loaded, Gone gone) {
    if (lives_.size() >= most_lives_) {
        std::erase_if(lives_, [](const auto& each) { return each.second.expired(); });
        most_lives_ = 2 * lives_.size() + 1024;
    }
    auto life = std::make_shared<Life>(Life{loaded, std::move(gone)});
    lives_[loaded.data()] = life;
    return life;
}

std::vector<Lives::LifePtr> Lives::all() const {
    std::vector<LifePtr> lives;
    for (const auto& [key, known] : lives_) {
        if (LifePtr life = known.lock()) lives.push_back(std::move(life));
    }
    return lives;
}

std::vector<Lives::LifePtr> Lives::in(std::span<const ByteView> ranges) const {
    std::vector<LifePtr> lives;
    for (const ByteView bytes : ranges) {
        const auto end = lives_.upper_bound(bytes.data() + bytes.size());
        for (auto each = lives_.lower_bound(bytes.data()); each != end; ++each) {
            if (LifePtr life = each->second.lock()) lives.push_back(std::move(life));
        }
    }
    return lives;
}

void Lives::let_go(const InsideMessage& found, std::span<const LifePtr> lives) {
    Gone gone;
    for (const LifePtr& life : lives) {
        if (life->gone) continue;
        if (!gone) gone = std::make_shared<const EditedFields>(found.edited);
        life->gone = gone;
    }
    for (const auto& [key, fields] : found.edited) let_go_.insert_or_assign(key, gone);
    if (!gone) return;
    if (gone_.size() >= most_gone_) {
        std::erase_if(gone_, [](const auto& each) { return each.second.gone.expired(); });
        most_gone_ = 2 * gone_.size() + 16;
    }
    for (const ByteView bytes : found.ranges) {
        gone_.insert_or_assign(bytes.data(), GoneRange{bytes.data() + bytes.size(), gone});
    }
}

Lives::Gone Lives::holder_of(const std::uint8_t* key) const {
    if (let_go_.empty()) return nullptr;
    const auto found = let_go_.find(key);
    if (found == let_go_.end()) return nullptr;
    Gone gone = found->second.lock();
    // Who held the fields may have released them meanwhile, in another thread.
    if (!gone) onnx::fail_edited_meanwhile();
    return gone;
}

Lives::Gone Lives::innermost_around(const std::uint8_t* key) const {
    for (auto each = gone_.upper_bound(key); each != gone_.begin();) {
        const GoneRange& range = (--each)->second;
        if (range.end < key) continue;
        if (Gone gone = range.gone.lock()) return gone;
    }
    return nullptr;
}

std::vector<const std::uint8_t*> Lives::held_keys() {
    std::erase_if(let_go_, [](const auto& each) { return each.second.expired(); });
    std::vector<const std::uint8_t*> keys;
    for (const auto& [key, gone] : let_go_) keys.push_back(key);
    return keys;
}

}  // namespace onnxmap::model
