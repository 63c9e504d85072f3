// The folder and policy for the external data of a test's model.
#pragma once

#include <string>
#include <utility>

#include "tensor/external_data.hpp"

namespace onnxmap::test {

/// With the default policy.
[[nodiscard]] inline tensor::ExternalFolder external_folder(
    std::string root, source::IoMode mode = source::IoMode::automatic) {
    return {std::move(root), nullptr, {}, mode};
}

}  // namespace onnxmap::test
