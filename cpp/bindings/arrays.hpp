// NumPy arrays over the bytes of a source. The only place that makes them.
#pragma once

#include <memory>

#include "bindings/python_objects.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::bindings {

/// What keeps a source alive as the base of arrays. One serves any number of arrays.
[[nodiscard]] py::object make_owner(std::shared_ptr<const io::Source> source);

/// A read-only array of the payload's elements: a view of its bytes, whose base is `owner`, or
/// where the source cannot be looked at (Source::viewable) a fresh array of bytes read now.
/// NumPy's `aligned` flag is right, and `writeable` cannot be set on a view.
[[nodiscard]] py::object make_array(const onnx::DataTypeInfo& type, const tensor::Header& header,
                                    const tensor::Payload& payload, const py::object& owner);

/// The view alone, whether or not its bytes may be looked at.
[[nodiscard]] py::object make_view(const onnx::DataTypeInfo& type, const tensor::Header& header,
                                   const tensor::Payload& payload, const py::object& owner);

/// The payload's bytes as a flat uint8 view.
[[nodiscard]] py::object make_bytes_view(const tensor::Payload& payload, const py::object& owner);

/// A fresh read-only array of a tensor whose values are in a typed field; strings are `str`, or
/// `bytes` where they are not UTF-8. Throws Error `tensor.*`.
[[nodiscard]] py::object decode_array(const onnx::Message& message, const tensor::Header& header,
                                      const tensor::Store& store);

/// Whether a view of the payload is aligned for its type.
[[nodiscard]] bool is_aligned(const onnx::DataTypeInfo& type, const tensor::Payload& payload);

/// numpy.dtype of an element type; imports ml_dtypes where NumPy lacks it.
[[nodiscard]] py::object numpy_dtype(const onnx::DataTypeInfo& type);

}  // namespace onnxmap::bindings
