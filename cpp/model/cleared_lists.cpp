// The handles of lists that were cleared since they were made. Part of Edits.
#include <mutex>
#include <utility>

#include "model/edits.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

struct Edits::ListPlace {
    struct Left {
        onnx::Message owner;
        std::vector<LifePtr> kept;  // of the messages of the list
        std::uint64_t count;        // of the edits before
    };
    std::map<ListKey, Left> left;
};

Edits::Edits() : first_lists_(std::make_shared<ListPlace>()) {}

Edits::ListPlacePtr Edits::list_place(const onnx::Message& owner, const wire::FieldRow& row) {
    if (count() == 0 && !is_any_list_cleared_.load(std::memory_order_acquire)) return first_lists_;
    std::map<ListKey, ListPlace::Left> released;  // without the lock: it may hold Python objects
    const std::lock_guard lock(mutex_);
    if (first_lists_.use_count() == 1) released.swap(first_lists_->left);
    if (lists_.size() >= most_lists_) {
        std::erase_if(lists_, [](const auto& each) { return each.second.expired(); });
        most_lists_ = 2 * lists_.size() + 1024;
    }
    std::weak_ptr<ListPlace>& known = lists_[{owner.key(), &row}];
    std::shared_ptr<ListPlace> place = known.lock();
    if (!place) {
        place = std::make_shared<ListPlace>();
        known = place;
    }
    return place;
}

void Edits::note_list_cleared(const onnx::Message& owner, const wire::FieldRow& row) {
    std::shared_ptr<ListPlace> now;  // released without the lock
    const std::lock_guard lock(mutex_);
    const ListKey list(owner.key(), &row);
    const auto found = lists_.find(list);
    if (found != lists_.end()) {
        now = found->second.lock();
        lists_.erase(found);
    }
    const bool has_first = first_lists_.use_count() > 1 && !block_of(owner.key());
    for (ListPlace* const place : {now.get(), has_first ? first_lists_.get() : nullptr}) {
        if (place == nullptr || place->left.contains(list)) continue;
        ListPlace::Left left{owner, {}, count()};
        if (row.is_message()) {
            owner.for_each_value(row, [&](const wire::Field& field) {
                // Without its edits, which are looked up below the lock.
                const onnx::Message each(onnx::kSchema.message_of(row), field.bytes);
                if (block_of(each.key())) left.kept.push_back(life_of(each));
            });
        }
        place->left.emplace(list, std::move(left));
        is_any_list_cleared_.store(true, std::memory_order_release);
    }
}

std::optional<onnx::Message> Edits::list_owner(const ListPlacePtr& place, const std::uint8_t* key,
                                               const wire::FieldRow& row) const {
    if (!is_any_list_cleared_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto found = place->left.find({key, &row});
    if (found == place->left.end()) return std::nullopt;
    const ListPlace::Left& left = found->second;
    const bool is_reverted = left.count < last_revert_ && !block_of(key);
    return is_reverted ? std::nullopt : std::optional(left.owner);
}

}  // namespace onnxmap::model
