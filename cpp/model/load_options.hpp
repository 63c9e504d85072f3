// How a file or buffer is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "tensor/external_data.hpp"
#include "wire/tag.hpp"

namespace onnxmap::model {

struct Limits {
    std::uint64_t tensors = 1'000'000;
    std::uint64_t pieces = 100'000;
    std::uint32_t depth = wire::kDefaultDepth;
    std::uint64_t external_entries = 64;
    std::uint64_t dense_bytes = 1 << 30;  // of a sparse tensor when dense
    std::uint64_t text_bytes = 1 << 30;   // of a message as text
    std::uint64_t overlap = 16;  // bytes of copies, as a multiple of the bytes of the files
};

struct LoadOptions {
    const wire::MessageTable* root = nullptr;  // the message that the bytes hold
    bool scan_packed = true;  // check="full"; otherwise typed payloads are validated when read
    bool watch = true;        // notice files that change
    std::string folder;       // of the file, absolute; empty: it is a buffer
    tensor::ExternalFolder external;
    Limits limits;
    /// If set: tensors with faults that onnx tolerates are read, and this function is called with
    /// each fault.
    std::function<void(const Error&)> tolerate;

    [[nodiscard]] bool is_model() const noexcept { return root == &onnx::message<"ModelProto">; }
};

}  // namespace onnxmap::model
