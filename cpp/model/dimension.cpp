#include "model/dimension.hpp"

#include "base/ascii.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

bool is_placeholder(std::string_view name) noexcept {
    constexpr std::string_view kNumbered = "unk__";  // of tf2onnx, and of onnx's shape inference
    if (name.starts_with(kNumbered)) return is_number(name.substr(kNumbered.size()));
    return name.empty() || name == "?" || name == "-1" || name == "None";
}

Dimension read_dimension(const onnx::Message& dim) {
    Dimension made;
    if (const auto number = dim.find(field<"TensorShapeProto.Dimension.dim_value">)) {
        if (number->int64() >= 0) made.value = number->int64();
    } else if (const auto name = dim.text(field<"TensorShapeProto.Dimension.dim_param">);
               !is_placeholder(name)) {
        made.param = name;
    }
    if (const auto text = dim.find(field<"TensorShapeProto.Dimension.denotation">)) {
        made.denotation = text->text();
    }
    return made;
}

}  // namespace onnxmap::model
