#include "model/tensor_names.hpp"

#include <string>

namespace onnxmap::model {

Error duplicate_name(std::string_view name, std::string_view advice) {
    return {"model.duplicate_name",
            "more than one tensor is named " + quoted(name) + "; " + std::string(advice)};
}

void TensorNames::add(std::string_view name) {
    const std::uint32_t here = next_++;
    if (name.empty()) return;
    const auto [position, is_new] = table_.add(name);
    if (is_new) {
        tensors_.push_back({here, 1, 0});
    } else {
        ++tensors_[position].count;
        has_repeated_ = true;
    }
}

void TensorNames::add_segment(std::string_view name) noexcept {
    if (const auto position = table_.find(name)) ++tensors_[*position].segments;
}

std::optional<std::uint32_t> TensorNames::position(std::string_view name) const {
    const auto entry = table_.find(name);
    return entry ? std::optional(position_at(*entry)) : std::nullopt;
}

std::vector<std::uint32_t> TensorNames::positions() const {
    std::vector<std::uint32_t> found;
    found.reserve(count());
    for (std::uint32_t entry = 0; entry < count(); ++entry) found.push_back(position_at(entry));
    return found;
}

std::uint32_t TensorNames::position_at(std::uint32_t entry) const {
    const Tensors& found = tensors_[entry];
    if (is_one_tensor(found.count, found.segments)) return found.first;
    throw duplicate_name(name(entry), "iterate over initializers.all() to reach each of them");
}

}  // namespace onnxmap::model
