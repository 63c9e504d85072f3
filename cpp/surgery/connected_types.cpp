#include "surgery/connected_types.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "model/value_type.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

using model::Dimension;
using model::ValueType;

namespace {

bool fits(const Dimension& a, const Dimension& b) {
    return !a.value || !b.value || *a.value == *b.value;
}

bool fits(const ValueType& a, const ValueType& b) {
    if (a.kind != b.kind || a.domain != b.domain || a.name != b.name) return false;
    if (a.elem_type && b.elem_type && *a.elem_type != *b.elem_type) return false;
    if (a.shape && b.shape &&
        !std::ranges::equal(*a.shape, *b.shape, [](const Dimension& left, const Dimension& right) {
            return fits(left, right);
        }))
        return false;
    return !a.inner || !b.inner || fits(*a.inner, *b.inner);
}

std::string element_text(const ValueType& type) {
    const auto* const known = type.elem_type ? onnx::find_data_type(*type.elem_type) : nullptr;
    return known == nullptr ? "?" : std::string(known->name);
}

std::string shape_text(const ValueType& type) {
    constexpr std::size_t kMostShown = 8;
    constexpr std::size_t kMostOfName = 80;
    if (!type.shape) return "";
    std::string text = " [";
    for (std::size_t i = 0; i < std::min(type.shape->size(), kMostShown); ++i) {
        const Dimension& dim = (*type.shape)[i];
        if (i != 0) text += ", ";
        text += dim.value           ? std::to_string(*dim.value)
                : dim.param.empty() ? "?"
                                    : escaped(dim.param.substr(0, kMostOfName), '"');
    }
    return text + (type.shape->size() > kMostShown ? ", ...]" : "]");
}

std::string text_of(const ValueType& type) {
    const auto inner = [&] { return type.inner ? text_of(*type.inner) : "?"; };
    switch (type.kind) {
        case ValueType::Kind::tensor: return element_text(type) + shape_text(type);
        case ValueType::Kind::sparse_tensor:
            return "a sparse " + element_text(type) + shape_text(type);
        case ValueType::Kind::sequence: return "a sequence of " + inner();
        case ValueType::Kind::map: return "a map from " + element_text(type) + " to " + inner();
        case ValueType::Kind::optional: return "an optional " + inner();
        case ValueType::Kind::opaque: break;
    }
    return "an opaque " + in_quotes(type.domain) + " " + in_quotes(type.name);
}

}  // namespace

void check_types(const model::Document& a, const onnx::Message& output, const model::Document& b,
                 const onnx::Message& input) {
    const auto made = model::type_of_value(a, output);
    const auto taken = model::type_of_value(b, input);
    if (!made || !taken || fits(*made, *taken)) return;
    const auto name = [](const onnx::Message& value) {
        return in_quotes(value.text(onnx::field<"ValueInfoProto.name">));
    };
    throw std::invalid_argument(name(output) + " of the first model is " + text_of(*made) +
                                ", but the input " + name(input) + " of the second is " +
                                text_of(*taken));
}

}  // namespace onnxmap::surgery
