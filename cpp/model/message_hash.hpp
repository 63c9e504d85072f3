// The hash of a message: equal messages have equal hashes; see equality.hpp.
#pragma once

#include <cstdint>

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// Takes the first values of each field, at any depth, until it has a bounded number of them. Of a
/// tensor's values it reads some bytes, and only if the tensor has no name. `message`: one of
/// `document`.
[[nodiscard]] std::uint64_t hash_of(const Document& document, const onnx::Message& message);

}  // namespace onnxmap::model
