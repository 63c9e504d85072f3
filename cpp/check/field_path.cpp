#include "check/field_path.hpp"

#include "model/message_walk.hpp"

namespace onnxmap::check {

std::string FieldPath::path() const {
    if (row == nullptr) return {};
    std::string text = parent == nullptr ? std::string() : parent->path();
    if (!text.empty()) text += '.';
    text += row->name;
    if (row->repeated()) text += model::path_key(text, key, index);
    return text;
}

const FieldPath* KeptFieldPaths::keep(const FieldPath& place) {
    if (place.kept != nullptr) return place.kept;
    const FieldPath* const parent = place.parent == nullptr ? nullptr : keep(*place.parent);
    FieldPath& copy = places_.emplace_back(FieldPath{parent, place.row, place.index, place.key});
    copy.kept = &copy;
    place.kept = &copy;
    return &copy;
}

}  // namespace onnxmap::check
