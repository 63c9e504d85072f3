// What a save finds out about the values of tensors, and whether these or a location counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/document.hpp"
#include "model/tensor.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::save {

enum class Role { initializer, attribute, other };

/// What the last step of a tensor's path says it is.
[[nodiscard]] Role role_of(std::string_view path);

/// Whether the tensor, or the one whose place it took, had external data when the document was
/// loaded.
[[nodiscard]] bool was_external(const model::Edits& edits, const onnx::Message& tensor);

/// Whether an edit made a tensor with external data, or gave it another place for them.
[[nodiscard]] bool has_new_place(const model::Document& document, const model::Tensor& tensor);

/// The values as raw_data has them, decoded into memory. Throws Error `tensor.*`.
[[nodiscard]] tensor::Payload decoded(tensor::Values values);

/// The same; nothing if they are not valid.
[[nodiscard]] std::optional<tensor::Payload> decoded_if_valid(tensor::Values values);

/// Removes the locations of tensors that have values as well, which then count: so onnx's
/// convert_model_to_external_data leaves them. Returns the locations by the positions of the
/// tensors among all of the document. Throws Error `ext.*`; `tensor.*` if the values do not fit.
[[nodiscard]] std::map<std::uint64_t, std::string> take_locations(const model::Document& document);

}  // namespace onnxmap::save
