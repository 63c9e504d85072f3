#include "model/list_names.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

Error duplicate_name(std::string_view what, std::string_view name, std::string_view advice) {
    return {"model.duplicate_name", "more than one " + std::string(what) + " is named " +
                                        in_quotes(name) + "; " + std::string(advice)};
}

void ListNames::add(std::string_view name) {
    const std::uint32_t here = next_++;
    if (!name.empty()) note(table_.add(name), here);
}

void ListNames::note(const NameTable::Added& added, std::uint32_t element) {
    if (added.is_new) {
        elements_.push_back({element, 1, 0});
    } else {
        ++elements_[added.position].count;
        has_repeated_ = true;
    }
}

void ListNames::add_segment(std::string_view name) noexcept {
    if (const auto position = table_.find(name)) ++elements_[*position].segments;
}

namespace {

// How many bytes two names have in common at their ends.
std::size_t in_common(std::string_view a, std::string_view b) noexcept {
    const std::size_t most = std::min(a.size(), b.size());
    std::size_t head = 0;
    while (head < most && a[head] == b[head]) ++head;
    std::size_t tail = 0;
    while (head + tail < most && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
    return head + tail;
}

}  // namespace

std::vector<std::string_view> ListNames::most_like(std::string_view name, std::size_t most) const {
    std::vector<std::pair<std::size_t, std::uint32_t>> found;
    found.reserve(count());
    for (std::uint32_t i = 0; i < count(); ++i) {
        const std::string_view each = this->name(i);
        const bool is_inside = !name.empty() && each.find(name) != std::string_view::npos;
        found.emplace_back(is_inside ? SIZE_MAX - each.size() : in_common(name, each), i);
    }
    if (most < found.size()) {
        std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(most),
                                 std::greater<>());
        found.resize(most);
    }
    std::ranges::sort(found, {}, [](const auto& each) { return each.second; });
    std::vector<std::string_view> names;
    names.reserve(found.size());
    for (const auto& [common, i] : found) names.push_back(this->name(i));
    return names;
}

std::optional<std::uint32_t> ListNames::position(std::string_view name) const {
    const auto entry = table_.find(name);
    return entry ? std::optional(position_at(*entry)) : std::nullopt;
}

std::vector<std::uint32_t> ListNames::positions() const {
    std::vector<std::uint32_t> found;
    found.reserve(count());
    for (std::uint32_t entry = 0; entry < count(); ++entry) found.push_back(position_at(entry));
    return found;
}

std::uint32_t ListNames::position_at(std::uint32_t entry) const {
    const Elements& found = elements_[entry];
    if (is_one_tensor(found.count, found.segments)) return found.first;
    throw duplicate_name(what_, name(entry), advice_);
}

namespace {

// What an element of a list is called in an error: "node" for a NodeProto. The inputs and outputs
// of a graph have one type, so the name of the list says which they are.
std::string called(const wire::FieldRow& list) {
    if (list.name == "value_info") return "value info";
    std::string_view type_name = list.type_name;
    if (type_name == "ValueInfoProto") return std::string(list.name);
    if (type_name.ends_with("Proto")) type_name.remove_suffix(5);
    std::string word(type_name);
    std::ranges::transform(word, word.begin(), [](char c) { return c | 0x20; });
    return word;
}

}  // namespace

const wire::FieldRow* naming_field(const wire::FieldRow& list) {
    const wire::MessageTable& message = onnx::kSchema.message_of(list);
    const wire::FieldRow* const name = message.find("name");
    return name != nullptr ? name : message.find("op_type");
}

ListNames names_in_list(const FieldIndex& fields, const wire::FieldRow& row) {
    const wire::FieldRow& name = *naming_field(row);
    ListNames names(called(row), "iterate over the list to reach each of them",
                    NameTable::Text::viewed);
    names.add_all(fields.likely_names(row), [&](auto&& add) {
        fields.for_each_child(row, [&](const onnx::Message& element) { add(element.text(name)); });
    });
    return names;
}

}  // namespace onnxmap::model
