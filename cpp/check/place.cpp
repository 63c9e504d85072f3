#include "check/place.hpp"

#include "model/message_walk.hpp"

namespace onnxmap::check {

std::string Place::path() const {
    if (row == nullptr) return {};
    std::string text = parent == nullptr ? std::string() : parent->path();
    if (!text.empty()) text += '.';
    text += row->name;
    if (row->repeated()) text += model::path_key(text, key, index);
    return text;
}

const Place* KeptPlaces::keep(const Place& place) {
    if (place.kept != nullptr) return place.kept;
    const Place* const parent = place.parent == nullptr ? nullptr : keep(*place.parent);
    Place& copy = places_.emplace_back(Place{parent, place.row, place.index, place.key});
    copy.kept = &copy;
    place.kept = &copy;
    return &copy;
}

}  // namespace onnxmap::check
