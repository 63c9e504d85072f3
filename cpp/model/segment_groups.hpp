// Which segments belong together: tensors of one repeated field that share a name and all have a
// segment. Found once per document, when the first segment is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "tensor/values.hpp"

namespace onnxmap::model {

class SegmentGroups {
  public:
    /// Visits every tensor below `root`. Throws Error `file.changed`.
    SegmentGroups(const onnx::Message& root, std::uint32_t max_depth);

    /// The pieces of the tensor that `piece` belongs to, in order. Safe to call from several
    /// threads. Throws Error `tensor.segment` if the pieces do not form one tensor, and
    /// `model.duplicate_name` if other tensors have the same name.
    [[nodiscard]] tensor::Segments whole(const onnx::Message& piece) const;

  private:
    // Sorted and searched, not hashed: the file chooses the names.
    struct Key {
        std::uint64_t list;
        std::string name;

        [[nodiscard]] auto operator<=>(const Key&) const = default;
    };
    struct Piece {
        Key key;
        onnx::Message tensor;
    };
    struct Joined {
        tensor::Segments segments;
        std::optional<Error> fault;  // why there are no segments
    };

    [[nodiscard]] Joined join(std::size_t first) const;
    [[nodiscard]] std::size_t first_of(const std::uint8_t* begin) const;

    std::vector<Piece> pieces_;              // by key
    std::vector<std::uint32_t> by_address_;  // positions in pieces_
    std::vector<bool> others_;  // at a key's first piece: whether other tensors have the name
    mutable os::ForkSafeMutex mutex_;
    mutable std::map<std::size_t, Joined> joined_;  // by the first piece; filled on request
};

}  // namespace onnxmap::model
