// The values of external tensors that a copied message brings along from a model with another
// folder: in the new model, their locations would name other files.
#pragma once

#include <vector>

#include "model/edit_message.hpp"

namespace onnxmap::model {

class CopiedExternalValues {
  public:
    /// No values: the copy keeps the locations as they are.
    CopiedExternalValues() = default;

    /// Finds the values of all external tensors in `original`, for a copy of it in the document
    /// `to`. None if both have the same folder, or the original has none. Throws Error `tensor.*`,
    /// `ext.*`, `file.changed`, and FileError.
    CopiedExternalValues(const Document& to, const Original& original);

    [[nodiscard]] bool empty() const noexcept { return external_.empty(); }

    /// Puts the values into the raw_data of the same tensors of the copy, which refers to their
    /// files.
    void store_in(const Document& document, const onnx::Message& copy) const;

  private:
    struct External {
        std::uint64_t position;  // among the tensors of the message
        NewValue values;
    };

    std::vector<External> external_;
};

}  // namespace onnxmap::model
