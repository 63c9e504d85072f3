#include "model/segment_groups.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "model/list_names.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr std::size_t kNone = SIZE_MAX;

std::string name_of(const onnx::Message& tensor) {
    return std::string(tensor.text(field<"TensorProto.name">));
}

}  // namespace

SegmentGroups::SegmentGroups(const onnx::Message& root, std::uint32_t max_depth) {
    for_each_listed_tensor(
        root, max_depth, [&](const std::string&, const onnx::Message& tensor, std::uint64_t list) {
            // A tensor that is in no list or has no name forms a group by itself: `whole` handles
            // it without an entry here.
            if (list == 0 || !tensor::is_segment(tensor)) return;
            std::string name = name_of(tensor);
            if (!name.empty()) pieces_.push_back({{list, std::move(name)}, tensor});
        });
    std::ranges::stable_sort(pieces_, {}, &Piece::key);
    others_.resize(pieces_.size());
    if (!pieces_.empty()) {
        for_each_listed_tensor(
            root, max_depth,
            [&](const std::string&, const onnx::Message& tensor, std::uint64_t list) {
                if (list == 0 || tensor::is_segment(tensor)) return;
                const Key key{list, name_of(tensor)};
                const auto first = std::ranges::lower_bound(pieces_, key, {}, &Piece::key);
                if (first == pieces_.end() || first->key != key) return;
                others_[static_cast<std::size_t>(first - pieces_.begin())] = true;
            });
    }
    by_address_.resize(pieces_.size());
    std::iota(by_address_.begin(), by_address_.end(), 0);
    std::ranges::sort(by_address_, {}, [&](std::uint32_t i) { return pieces_[i].tensor.key(); });
}

std::size_t SegmentGroups::first_of(const std::uint8_t* begin) const {
    const auto entry = std::ranges::lower_bound(
        by_address_, begin, {}, [&](std::uint32_t i) { return pieces_[i].tensor.key(); });
    if (entry == by_address_.end() || pieces_[*entry].tensor.key() != begin) return kNone;
    const auto first = std::ranges::lower_bound(pieces_, pieces_[*entry].key, {}, &Piece::key);
    return static_cast<std::size_t>(first - pieces_.begin());
}

SegmentGroups::Joined SegmentGroups::join(std::size_t first) const {
    const Key& key = pieces_[first].key;
    try {
        std::vector<onnx::Message> tensors;
        for (std::size_t i = first; i < pieces_.size() && pieces_[i].key == key; ++i) {
            tensors.push_back(pieces_[i].tensor);
        }
        if (!is_one_tensor(tensors.size() + (others_[first] ? 1 : 0), tensors.size())) {
            throw duplicate_name("tensor", key.name, "not all of them are segments of one tensor");
        }
        return {std::make_shared<const tensor::SegmentedTensor>(tensor::join_segments(tensors)),
                std::nullopt};
    } catch (const Error& fault) {
        return {nullptr, fault};
    }
}

tensor::Segments SegmentGroups::whole(const onnx::Message& piece) const {
    const std::size_t first = first_of(piece.key());
    if (first == kNone) {
        return std::make_shared<const tensor::SegmentedTensor>(tensor::join_segments({piece}));
    }
    const std::lock_guard lock(mutex_);
    auto known = joined_.find(first);
    if (known == joined_.end()) known = joined_.emplace(first, join(first)).first;
    if (known->second.fault) throw *known->second.fault;
    return known->second.segments;
}

}  // namespace onnxmap::model
