#include "model/mentions.hpp"

#include <stdexcept>

namespace onnxmap::model {

void Mentions::reserve(std::uint64_t elements) {
    names_.reserve(elements);
    of_name_.reserve(elements);
    entries_.reserve(3 * elements);
    elements_.reserve(elements);
}

void Mentions::start(ByteView loaded) {
    const auto [place, is_new] =
        elements_.try_emplace(loaded.data(), Element{loaded, Mention::kNone, 0});
    open_ = &place->second;
    if (!is_new) clear(*open_);
}

void Mentions::add(std::string_view name, Mention mention) {
    const auto [position, is_new] = names_.add(name);
    if (is_new) of_name_.emplace_back();
    OfName& of_name = of_name_[position];
    const std::uint32_t here = new_entry();
    mention.order = open_->count++;
    entries_[here] = {open_->loaded.data(), position, of_name.first, kNone, open_->first, mention};
    if (of_name.first != kNone) entries_[of_name.first].previous = here;
    of_name.first = open_->first = here;
    if (of_name.count++ == 0) ++names_in_use_;
}

void Mentions::remove(const std::uint8_t* key) {
    const auto found = elements_.find(key);
    if (found == elements_.end()) return;
    clear(found->second);
    elements_.erase(found);
}

std::uint64_t Mentions::count(std::string_view name) const {
    const auto known = names_.find(name);
    return known ? of_name_[*known].count : 0;
}

void Mentions::clear(Element& element) {
    for (std::uint32_t i = element.first; i != kNone;) {
        Entry& entry = entries_[i];
        OfName& of_name = of_name_[entry.name];
        if (entry.next != kNone) entries_[entry.next].previous = entry.previous;
        if (entry.previous != kNone) {
            entries_[entry.previous].next = entry.next;
        } else {
            of_name.first = entry.next;
        }
        if (--of_name.count == 0) --names_in_use_;
        const std::uint32_t next = entry.next_of_element;
        entry.next_of_element = free_;
        free_ = i;
        i = next;
    }
    element.first = kNone;
    element.count = 0;
}

std::uint32_t Mentions::new_entry() {
    if (free_ != kNone) {
        const std::uint32_t here = free_;
        free_ = entries_[here].next_of_element;
        return here;
    }
    if (entries_.size() >= kNone) throw std::length_error("more than 2^32 names in one list");
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

}  // namespace onnxmap::model
