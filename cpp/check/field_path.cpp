#include "check/field_path.hpp"

#include "model/message_walk.hpp"

namespace onnxmap::check {

std::string FieldPath::text() const {
    if (row == nullptr) return {};
    std::string text = parent == nullptr ? std::string() : parent->text();
    if (!text.empty()) text += '.';
    text += row->name;
    if (row->repeated()) text += model::path_key(text, key, index);
    return text;
}

const FieldPath* KeptFieldPaths::keep(const FieldPath& path) {
    if (path.kept != nullptr) return path.kept;
    const FieldPath* const parent = path.parent == nullptr ? nullptr : keep(*path.parent);
    FieldPath& copy = paths_.emplace_back(FieldPath{parent, path.row, path.index, path.key});
    copy.kept = &copy;
    path.kept = &copy;
    return &copy;
}

}  // namespace onnxmap::check
