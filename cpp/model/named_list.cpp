#include "model/named_list.hpp"

#include <algorithm>

#include "model/followed_list.hpp"

namespace onnxmap::model {

// A small message is walked over in less time than it takes to follow it.
std::vector<std::uint64_t> NamedList::walk(std::string_view name) const {
    std::vector<std::uint64_t> found;
    std::uint64_t position = 0;
    fields_.for_each(list_, [&](const wire::Field& element) {
        if (FollowedNames::name_of(fields_.message().inner(list_, element), name_) == name) {
            found.push_back(position);
        }
        ++position;
    });
    return found;
}

std::vector<std::uint64_t> NamedList::positions(std::string_view name) const {
    if (!document_.is_followed(fields_.message())) return walk(name);
    std::vector<const std::uint8_t*> keys;
    const auto followed = document_.followed_names(fields_.message(), list_, name_);
    followed->look([&](const FollowedList::Read& now) {
        now.mentions.for_each(
            name, [&](const std::uint8_t* key, const Mention&) { keys.push_back(key); });
    });
    auto found = fields_.ordinals(list_, keys);
    std::ranges::sort(found);
    return found;
}

std::uint64_t NamedList::count(std::string_view name) const {
    if (!document_.is_followed(fields_.message())) return walk(name).size();
    const auto followed = document_.followed_names(fields_.message(), list_, name_);
    return followed->look([&](const FollowedList::Read& now) { return now.mentions.count(name); });
}

std::uint64_t NamedList::names() const {
    if (document_.is_followed(fields_.message())) {
        const auto followed = document_.followed_names(fields_.message(), list_, name_);
        return followed->look(
            [&](const FollowedList::Read& now) { return now.mentions.name_count(); });
    }
    NameTable known;
    fields_.for_each(list_, [&](const wire::Field& element) {
        known.add(FollowedNames::name_of(fields_.message().inner(list_, element), name_));
    });
    return known.size();
}

}  // namespace onnxmap::model
