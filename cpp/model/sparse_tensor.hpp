// The parts of a SparseTensorProto: the values, their indices, and the shape of the dense tensor.
// Source: onnx.proto, SparseTensorProto.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

class SparseTensor {
  public:
    /// A SparseTensorProto of the document, which must outlive this.
    SparseTensor(const Document& document, onnx::Message message)
        : document_(document), message_(std::move(message)) {}

    /// The TensorProto of the values, or of the indices; an empty message if the field is absent.
    [[nodiscard]] onnx::Message values() const {
        return part(onnx::field<"SparseTensorProto.values">);
    }
    [[nodiscard]] onnx::Message indices() const {
        return part(onnx::field<"SparseTensorProto.indices">);
    }

    /// The name of the sparse tensor is the name of its values.
    [[nodiscard]] std::string_view name() const {
        return values().text(onnx::field<"TensorProto.name">);
    }

    /// Dimensions of the dense tensor, as stored. Throws Error `tensor.rank` if there are more than
    /// NumPy supports. The error has the name of the tensor, or its path if it has no name.
    [[nodiscard]] std::vector<std::int64_t> dims() const;

  private:
    [[nodiscard]] onnx::Message part(const wire::FieldRow& row) const {
        return document_.child(message_, row)
            .value_or(onnx::Message(onnx::message<"TensorProto">, ByteView{}));
    }

    const Document& document_;
    onnx::Message message_;
};

}  // namespace onnxmap::model
