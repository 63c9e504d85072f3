#include "check/node_shapes.hpp"

#include <algorithm>

#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

std::string shape_text(NumberView shape) {
    std::string text = "[";
    for (const std::int64_t dim : shape) {
        if (text.size() > 1) text += ", ";
        text += dim == kUnknown ? "?" : std::to_string(dim);
    }
    return text += ']';
}

void NodeShapes::begin(const onnx::Operator& op, const onnx::Message& node) {
    op_ = &op;
    node_ = &node;
    inputs_.clear();
    made_.clear();
    fault_.reset();
    attributes_.clear();
    has_attributes_ = is_unsure_ = false;
}

const NodeShapes::Attribute* NodeShapes::find(std::string_view attribute) const {
    if (!has_attributes_) {
        has_attributes_ = true;
        node_->for_each_child(field<"NodeProto.attribute">, [&](const onnx::Message& each) {
            is_unsure_ = is_unsure_ || each.has(field<"AttributeProto.ref_attr_name">);
            attributes_.emplace_back(each.text(field<"AttributeProto.name">), each);
        });
    }
    const auto found = std::ranges::find(attributes_, attribute, &Attribute::first);
    return found == attributes_.end() ? nullptr : &*found;
}

std::optional<Numbers> NodeShapes::numbers(std::string_view attribute) const {
    const Attribute* const found = find(attribute);
    if (found == nullptr) return std::nullopt;
    Numbers numbers;
    found->second.for_each_value(field<"AttributeProto.ints">, [&](const wire::Field& value) {
        if (numbers.size() <= kMostElements) numbers.push_back(value.int64());
    });
    return numbers.size() <= kMostElements ? std::optional(numbers) : std::nullopt;
}

List NodeShapes::list(std::string_view attribute, std::size_t slot) {
    if (!attribute.empty() && has(attribute)) return {true, numbers(attribute), {attribute}};
    if (!has_input(slot)) return {};
    if (dims(slot) && dims(slot)->size() > 1) {
        wrong(slot, "it takes a list here, and the shape is " + shape_text(*dims(slot)));
    }
    return {true, elements(slot), {{}, slot}};
}

std::optional<Numbers> NodeShapes::elements(std::size_t slot) const {
    const auto& [dims, elements] = input(slot);
    if (elements) return Numbers(elements->begin(), elements->end());
    if (!dims || dims->size() != 1 || dims->front() < 0) return std::nullopt;
    if (dims->front() > static_cast<std::int64_t>(kMostElements)) return std::nullopt;
    return Numbers(static_cast<std::size_t>(dims->front()), kUnknown);
}

std::optional<std::size_t> NodeShapes::axis(const Place& path, std::int64_t value, std::size_t rank,
                                            std::size_t more) {
    if (value == kUnknown || rank == 0) return std::nullopt;
    const std::int64_t counted = value < 0 ? value + static_cast<std::int64_t>(rank) : value;
    if (counted >= 0 && counted < static_cast<std::int64_t>(rank + more)) {
        return static_cast<std::size_t>(counted);
    }
    wrong(path, "there is no axis " + std::to_string(value) + ": the value has " +
                    std::to_string(rank) + " dimensions");
    return std::nullopt;
}

void NodeShapes::make(std::size_t slot, const Known& known) {
    if (known.dims && known.dims->size() > kMostMade) return;
    if (made_.size() <= slot) made_.resize(slot + 1);
    if (!known.elements && !inputs_.empty() && dims(0) && !input(0).elements && known.dims &&
        std::ranges::equal(*known.dims, *dims(0))) {
        made_[slot] = *inputs_[0];
    } else {
        made_[slot] = store_.add(known);
    }
}

void NodeShapes::pass(std::size_t slot, std::size_t input_slot, bool with_elements) {
    const Known& known = input(input_slot);
    if (!known.dims) return;
    if (known.elements && !with_elements) {
        make(slot, *known.dims);
    } else {
        if (made_.size() <= slot) made_.resize(slot + 1);
        made_[slot] = *inputs_[input_slot];
    }
}

void NodeShapes::wrong(std::size_t slot, const std::string& what, std::size_t other) {
    wrong(slot, what + ": its shape is " + shape_text(*dims(slot)) + ", and that of input " +
                    std::to_string(other) + " " + shape_text(*dims(other)));
}

}  // namespace onnxmap::check
