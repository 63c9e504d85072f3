#include "model/present_mentions.hpp"

#include <span>

namespace onnxmap::model {

PresentMentions::PresentMentions(Mentions mentions, std::shared_ptr<const FieldIndex> fields,
                                 const wire::FieldRow& list)
    : then_(std::move(mentions)),
      by_name_(then_),
      fields_(std::move(fields)),
      list_(&list),
      counts_(then_.name_count()),
      names_in_use_(then_.name_count()) {
    for (std::uint32_t name = 0; name < counts_.size(); ++name) {
        counts_[name] =
            static_cast<std::uint32_t>(by_name_.makers(name).size() + by_name_.users(name).size());
    }
    // The names of edits may be gone before they are no longer mentioned here.
    then_.names().copy_from_now_on();
}

bool PresentMentions::has(Key key) const {
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
        element_then ? then_.of_element(static_cast<std::uint32_t>(*element_then))
                     : element.mentions;
    for (const std::uint32_t mention : mentions) {
        const std::uint32_t name = mention & ~Mentions::kMade;
        if (--counts_[name] == 0) --names_in_use_;
        if (!element_then) edited_by_mention_[mention].erase(key);
    }
    return element = {};
}

void PresentMentions::start(ByteView loaded) {
    started_ = &forget(loaded.data());
    started_->loaded = loaded;
}

std::uint32_t PresentMentions::add(std::string_view name, bool made) {
    const auto [number, is_new] = then_.names().add(name);
    if (is_new) counts_.push_back(0);
    if (counts_[number]++ == 0) ++names_in_use_;
    const std::uint32_t mention = number | (made ? Mentions::kMade : 0);
    started_->mentions.push_back(mention);
    ++edited_by_mention_[mention][started_->loaded.data()];
    return number;
}

void PresentMentions::remove(Key key) {
    if (!has(key)) return;
    forget(key);
    if (!unedited(key)) edited_.erase(key);
}

}  // namespace onnxmap::model
