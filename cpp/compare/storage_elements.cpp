#include "compare/storage_elements.hpp"

#include <string_view>
#include <vector>

#include "model/name_table.hpp"
#include "model/tensor.hpp"
#include "model/view_keys.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::compare {

using onnx::field;
using onnx::Message;

namespace {

// Of each tensor in segments, only the first TensorProto is compared: with all values. If the
// segments have a fault, or another tensor has their name, they are compared one by one.
void drop_segments(const model::Document& document, Elements& tensors) {
    model::NameTable names;
    std::vector<bool> is_whole;  // of each name
    tensors.drop_if([&](std::uint32_t i) {
        const Message tensor = tensors.at(i);
        const std::string_view name = tensor.text(field<"TensorProto.name">);
        if (name.empty() || !tensor::is_segment(tensor)) return false;
        const auto added = names.add(name);
        if (added.is_new)
            is_whole.push_back(model::Tensor(document, tensor).values_if_valid().has_value());
        return !added.is_new && is_whole[added.position];
    });
}

// Where a view has its values is a matter of storage.
void drop_view_keys(Elements& entries) {
    entries.drop_if([&](std::uint32_t i) {
        const Message entry = entries.at(i);
        return entry.text(field<"StringStringEntryProto.key">).starts_with(model::kViewKeys);
    });
}

}  // namespace

void drop_what_is_storage(const model::Document& document, const wire::FieldRow& list,
                          Elements& elements) {
    if (&list == &field<"GraphProto.initializer">) {
        drop_segments(document, elements);
    } else if (&list == &field<"ModelProto.metadata_props">) {
        drop_view_keys(elements);
    }
}

}  // namespace onnxmap::compare
