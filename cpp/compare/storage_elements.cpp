#include "compare/storage_elements.hpp"

#include <algorithm>
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
// segments have a fault, they are compared one by one.
void drop_segments(const model::Document& document, Elements& tensors) {
    const auto segment_of = [&](std::uint32_t i) { return tensor::is_segment(tensors.at(i)); };
    std::vector<bool> dropped(tensors.count());
    for (std::uint32_t i = 0; i < tensors.count(); ++i) dropped[i] = segment_of(i);
    if (std::ranges::find(dropped, true) == dropped.end()) return;
    struct Group {
        std::uint32_t first;
        std::uint32_t count = 0;
        std::uint32_t segments = 0;
        bool whole = false;
    };
    model::NameTable names;
    std::vector<Group> groups;
    std::vector<std::uint32_t> group_of(tensors.count());
    for (std::uint32_t i = 0; i < tensors.count(); ++i) {
        const auto added = names.add(tensors.at(i).text(field<"TensorProto.name">));
        if (added.is_new) groups.push_back({i});
        group_of[i] = added.position;
        ++groups[added.position].count;
        if (dropped[i]) ++groups[added.position].segments;
    }
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
        Group& group = groups[i];
        group.whole =
            !names.name(i).empty() && group.segments == group.count &&
            model::Tensor(document, tensors.at(group.first)).values_if_valid().has_value();
    }
    for (std::uint32_t i = 0; i < tensors.count(); ++i) {
        const Group& group = groups[group_of[i]];
        dropped[i] = group.whole && i != group.first;
    }
    tensors.drop(dropped);
}

// Where a view has its values is a matter of storage.
void drop_view_keys(Elements& entries) {
    std::vector<bool> dropped(entries.count());
    for (std::uint32_t i = 0; i < entries.count(); ++i) {
        const Message entry = entries.at(i);
        dropped[i] = entry.text(field<"StringStringEntryProto.key">).starts_with(model::kViewKeys);
    }
    if (std::ranges::find(dropped, true) != dropped.end()) entries.drop(dropped);
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
