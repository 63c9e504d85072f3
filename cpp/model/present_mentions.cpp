#include "model/present_mentions.hpp"

#include <algorithm>

namespace onnxmap::model {

PresentMentions::PresentMentions(Mentions mentions, std::vector<ByteView> loaded)
    : then_(std::move(mentions)),
      by_name_(then_),
      loaded_(std::move(loaded)),
      counts_(then_.name_count()),
      names_in_use_(then_.name_count()) {
    for (std::uint32_t name = 0; name < counts_.size(); ++name) {
        counts_[name] =
            static_cast<std::uint32_t>(by_name_.makers(name).size() + by_name_.users(name).size());
    }
    // The names of edits may be gone before they are no longer mentioned here.
    then_.names().copy_from_now_on();
}

std::optional<std::uint32_t> PresentMentions::unedited(Key key) {
    if (by_key_.empty()) {
        by_key_.reserve(loaded_.size());
        for (const ByteView each : loaded_)
            by_key_.emplace_back(each.data(), static_cast<std::uint32_t>(by_key_.size()));
        if (!std::ranges::is_sorted(by_key_)) std::ranges::sort(by_key_);  // files are in order
    }
    const auto found = std::ranges::lower_bound(by_key_, std::pair(key, std::uint32_t{0}));
    if (found == by_key_.end() || found->first != key) return std::nullopt;
    return found->second;
}

bool PresentMentions::has(Key key) {
    const auto edited = edited_.find(key);
    return edited == edited_.end() ? unedited(key).has_value()
                                   : edited->second.loaded.data() != nullptr;
}

// Forgets what an element mentions, which counts as edited from now on.
PresentMentions::Edited& PresentMentions::forget(Key key) {
    const auto [place, is_new] = edited_.try_emplace(key);
    Edited& element = place->second;
    const auto element_then = is_new ? unedited(key) : std::nullopt;
    const std::span<const std::uint32_t> mentions =
        element_then ? then_.of_element(*element_then) : element.mentions;
    for (const std::uint32_t mention : mentions) {
        const std::uint32_t name = mention & ~Mentions::kMade;
        if (--counts_[name] == 0) --names_in_use_;
        if (!element_then) edited_by_name_[name].erase(key);
    }
    element = {};
    return element;
}

void PresentMentions::start(ByteView loaded) {
    started_ = &forget(loaded.data());
    started_->loaded = loaded;
}

void PresentMentions::add(std::string_view name, bool made) {
    const auto [number, is_new] = then_.names().add(name);
    if (is_new) counts_.push_back(0);
    if (counts_[number]++ == 0) ++names_in_use_;
    started_->mentions.push_back(number | (made ? Mentions::kMade : 0));
    edited_by_name_[number].insert(started_->loaded.data());
}

void PresentMentions::remove(Key key) {
    if (has(key)) forget(key);
}

}  // namespace onnxmap::model
