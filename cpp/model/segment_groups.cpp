#include "model/segment_groups.hpp"

#include <memory>
#include <string>
#include <utility>

#include "model/tensor_walk.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

// The path of the list that the tensor is in, and its name. One without a name is alone.
std::string key_of(const std::string& path, const onnx::Message& tensor) {
    const std::string_view name = tensor.text(field<"TensorProto.name">);
    if (name.empty() || !path.ends_with(']')) return path;
    return path.substr(0, path.rfind('[')) + '=' + std::string(name);
}

}  // namespace

void SegmentGroups::find(const onnx::Message& root, std::uint32_t max_depth) {
    groups_.clear();  // of an earlier try that threw
    group_of_.clear();
    std::unordered_map<std::string, std::size_t> known;
    for_each_tensor(root, max_depth, [&](const std::string& path, const onnx::Message& tensor) {
        if (!tensor.has(field<"TensorProto.segment">)) return;
        const auto [entry, is_new] = known.emplace(key_of(path, tensor), groups_.size());
        if (is_new) groups_.emplace_back();
        groups_[entry->second].pieces.push_back(tensor);
        group_of_.emplace(tensor.piece(0).data(), entry->second);
    });
    for_each_tensor(root, max_depth, [&](const std::string& path, const onnx::Message& tensor) {
        if (tensor.has(field<"TensorProto.segment">)) return;
        const auto entry = known.find(key_of(path, tensor));
        if (entry != known.end()) groups_[entry->second].others = true;
    });
    for (Group& group : groups_) {
        try {
            if (group.others) {
                const auto name = group.pieces.front().text(field<"TensorProto.name">);
                throw Error("model.duplicate_name",
                            "more than one tensor beside each other is named " + quoted(name) +
                                ", and not all are segments of one");
            }
            group.segments = std::make_shared<const std::vector<tensor::Segment>>(
                tensor::join_segments(group.pieces));
        } catch (const Error& fault) {
            group.fault = fault;
        }
        group.pieces = {};
    }
}

tensor::Segments SegmentGroups::whole(const onnx::Message& piece) const {
    const auto entry = group_of_.find(piece.piece(0).data());
    if (entry == group_of_.end()) {
        throw Error("file.changed", "the bytes of the model changed after it was loaded");
    }
    const Group& group = groups_[entry->second];
    if (group.fault) throw *group.fault;
    return group.segments;
}

}  // namespace onnxmap::model
