// Which segments belong together: tensors of one repeated field that share a name and all have a
// segment. Found once per document, when the first segment is read.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "onnx/message.hpp"
#include "tensor/values.hpp"

namespace onnxmap::model {

class SegmentGroups {
  public:
    /// Looks at every tensor below `root`. Throws Error `file.changed`.
    void find(const onnx::Message& root, std::uint32_t max_depth);

    /// The pieces of the tensor that `piece` is one of, in order. Throws Error `tensor.segment`
    /// where they do not make up one, `model.duplicate_name` where others have their name.
    [[nodiscard]] tensor::Segments whole(const onnx::Message& piece) const;

  private:
    struct Group {
        std::vector<onnx::Message> pieces;
        bool others = false;  // of the same name have no segment
        tensor::Segments segments;
        std::optional<Error> fault;  // why there are none
    };

    std::vector<Group> groups_;
    std::unordered_map<const std::uint8_t*, std::size_t> group_of_;  // by where a piece begins
};

}  // namespace onnxmap::model
