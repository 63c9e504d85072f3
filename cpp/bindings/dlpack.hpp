// DLPack: the standard by which array libraries share memory.
// Source: the DLPack specification 1.1 and its Python protocol.
#pragma once

#include <memory>
#include <span>

#include "bindings/python_objects.hpp"
#include "onnx/data_type.hpp"
#include "source/source.hpp"

namespace onnxmap::bindings {

struct DlpackOptions {
    bool versioned = true;  // otherwise the older struct, which has no read-only flag
    bool read_only = true;
    bool copied = false;
};

/// A capsule over `bytes`, which `source` keeps alive. Sub-byte elements are packed.
[[nodiscard]] py::capsule make_dlpack(const onnx::DataTypeInfo& type,
                                      std::span<const std::int64_t> dims, ByteView bytes,
                                      std::shared_ptr<const source::Source> source,
                                      const DlpackOptions& options);

}  // namespace onnxmap::bindings
