#include "onnx/schema.hpp"

namespace onnxmap::onnx {

const wire::MessageTable* find_message(std::string_view name) noexcept {
    for (const wire::MessageTable& table : kSchema.messages) {
        if (table.name == name) return &table;
    }
    return nullptr;
}

}  // namespace onnxmap::onnx
