// The way from a bound Tensor to what the core knows of it, with errors that say which tensor.
#pragma once

#include <utility>

#include "base/error.hpp"
#include "bindings/python_objects.hpp"
#include "model/tensor_path.hpp"
#include "tensor/header.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

/// Calls work(); an Error of a tensor without a name gets its path.
template <class Work>
auto naming(const Tensor& tensor, Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const Error& error) {
        throw model::with_tensor_path(error, *tensor.document, tensor.message.piece(0).data());
    }
}

[[nodiscard]] inline tensor::Header header_of(const Tensor& tensor) {
    tensor::Header header;
    tensor::read_header(tensor.message, header);
    return header;
}

[[nodiscard]] inline tensor::Values values_of(const Tensor& tensor) {
    return tensor.document->values(tensor.message);
}

// NumPy's copy argument: None, True or False.
[[nodiscard]] inline bool is_false(const py::object& copy) {
    return !copy.is_none() && !copy.cast<bool>();
}
[[nodiscard]] inline bool is_true(const py::object& copy) {
    return !copy.is_none() && copy.cast<bool>();
}

}  // namespace onnxmap::bindings
