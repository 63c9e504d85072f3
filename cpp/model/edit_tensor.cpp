#include "model/edit_tensor.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

void set_raw_data(const Document& document, const onnx::Message& tensor, const NewValue& value) {
    set_value(document, tensor, field<"TensorProto.raw_data">, value);
}

void set_loaded_raw_data(const Document& document, const onnx::Message& tensor,
                         std::uint64_t offset, std::uint64_t nbytes) {
    NewValue held;
    held.source = document.store().source;
    if (offset > held.source->size() || nbytes > held.source->size() - offset) {
        throw Error("edit.range", "the file of the model has no such bytes");
    }
    held.content = {held.source->data() + offset, nbytes};
    set_raw_data(document, tensor, held);
}

std::optional<ByteView> loaded_raw_data(const Document& document, const onnx::Message& tensor) {
    const auto value = document.find(tensor, field<"TensorProto.raw_data">);
    const bool is_loaded = value && !value->bytes.empty() && document.store().holds(value->bytes);
    return is_loaded ? std::optional(value->bytes) : std::nullopt;
}

namespace {

constexpr std::array kKept = {&field<"TensorProto.name">, &field<"TensorProto.doc_string">,
                              &field<"TensorProto.metadata_props">};

}  // namespace

void clear_values(const Document& document, const onnx::Message& tensor) {
    std::vector<const wire::FieldRow*> rows;
    for (const wire::FieldRow& row : tensor.table().fields) {
        if (std::ranges::find(kKept, &row) == kKept.end()) rows.push_back(&row);
    }
    clear(document, tensor, rows);
}

}  // namespace onnxmap::model
