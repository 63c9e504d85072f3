#include "model/named_list.hpp"

#include <algorithm>

#include "model/followed_list.hpp"

namespace onnxmap::model {

// A short list is walked over in less time than a name is looked up, and a small message in less
// time than it takes to follow it.
bool NamedList::is_worth_a_walk() const {
    constexpr std::uint64_t kShort = 4;
    return fields_.count(list_) <= kShort || !document_.is_followed(fields_.message());
}

std::vector<std::uint64_t> NamedList::walk(std::string_view name) const {
    std::vector<std::uint64_t> found;
    std::uint64_t position = 0;
    fields_.for_each_child(list_, [&](const onnx::Message& element) {
        if (FollowedNames::name_of(element, name_) == name) {
            found.push_back(position);
        }
        ++position;
    });
    return found;
}

std::vector<std::uint64_t> NamedList::positions(std::string_view name) const {
    if (is_worth_a_walk()) return walk(name);
    std::vector<const std::uint8_t*> keys;
    const auto followed = document_.followed_names(fields_.message(), list_, name_);
    followed->look([&](const FollowedList::State& now) {
        if (const auto known = now.mentions.find(name))
            now.mentions.for_each_user(*known,
                                       [&](ByteView loaded) { keys.push_back(loaded.data()); });
    });
    auto found = fields_.ordinals(list_, keys);
    std::ranges::sort(found);
    return found;
}

std::uint64_t NamedList::count(std::string_view name) const {
    if (is_worth_a_walk()) return walk(name).size();
    const auto followed = document_.followed_names(fields_.message(), list_, name_);
    return followed->look([&](const FollowedList::State& now) { return now.mentions.count(name); });
}

std::uint64_t NamedList::names() const {
    if (!is_worth_a_walk()) {
        const auto followed = document_.followed_names(fields_.message(), list_, name_);
        return followed->look(
            [&](const FollowedList::State& now) { return now.mentions.name_count(); });
    }
    NameTable known;
    fields_.for_each_child(list_, [&](const onnx::Message& element) {
        known.add(FollowedNames::name_of(element, name_));
    });
    return known.size();
}

}  // namespace onnxmap::model
