// How another process finds the values of a tensor: a folder, a file below it, and a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/document.hpp"
#include "tensor/values.hpp"

namespace onnxmap::model {

struct TensorReference {
    std::string folder;    // path or URL; nothing outside it is opened
    std::string location;  // of the file, below the folder
    std::string name;      // the location as the model has it, for copies of the folder
    std::uint64_t offset;
    std::uint64_t nbytes;
    std::uint64_t file_size;
    bool has_hard_links;  // the file has another name, perhaps outside the folder
};

/// A reference to the same file that the document has open. The folder is one that the document may
/// read from: the model's folder, the folder of its external data, or the folder that really holds
/// the model.
///
/// Nothing if no file stores the values as they are, or if no path below these folders leads to the
/// file any longer. The caller must then carry the values themselves. Throws FileError if the
/// process has no descriptor left.
[[nodiscard]] std::optional<TensorReference> reference_to(const Document& document,
                                                          const onnx::Message& tensor,
                                                          const tensor::Values& values);

}  // namespace onnxmap::model
