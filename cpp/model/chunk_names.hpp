// The elements of a list of an edited message by name. Each chunk of the message's fields has a
// table of its own, and the next state of the message shares the tables of the chunks that it
// shares: after an edit, names are found without a walk over the whole list.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "model/field_index.hpp"
#include "model/list_names.hpp"
#include "onnx/pieces.hpp"

namespace onnxmap::model {

class ChunkNames {
  public:
    /// The elements of `list` by their field `name`. `before`: the names of an earlier state, or
    /// null. No element has been renamed since.
    ChunkNames(const FieldIndex& edited, const wire::FieldRow& list, const wire::FieldRow& name,
               const ChunkNames* before);

    struct Found {
        /// Several means: there may be more than one.
        enum class Count : std::uint8_t { none, one, several } count = Count::none;
        std::uint64_t position = 0;  // of the one
    };
    /// Finds a name, which is not empty.
    [[nodiscard]] Found find(std::string_view name) const;

  private:
    struct Part {
        onnx::Pieces::SharedChunk chunk;
        std::uint64_t count;  // of the elements
        std::shared_ptr<const ListNames> names;
    };

    std::vector<Part> parts_;  // of the chunks that have elements
};

}  // namespace onnxmap::model
