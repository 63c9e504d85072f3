// The parts of a SparseTensorProto (the values, their indices, the shape of the dense tensor), and
// the rules that they must fulfil together.
// Source: onnx.proto, SparseTensorProto.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/tensor.hpp"
#include "onnx/data_type.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::model {

/// What the headers of the parts say, if they agree.
struct SparseStructure {
    std::vector<std::int64_t> dims;  // of the dense tensor
    std::uint64_t size = 0;          // elements of the dense tensor
    std::uint64_t count = 0;         // of the values
    // Whether an index is a position in the flattened tensor. Otherwise an index has a coordinate
    // for each dimension.
    bool linear = true;
};

class SparseTensor {
  public:
    /// A SparseTensorProto of the document, which must outlive this.
    SparseTensor(const Document& document, onnx::Message message)
        : document_(document), message_(std::move(message)) {}

    /// See Tensor::leave_paths_out().
    void leave_paths_out() noexcept { finds_paths_ = false; }

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

    /// Checks types and shapes. Reads neither values nor indices. Throws Error `tensor.dtype`,
    /// `tensor.rank`, `tensor.negative_dim`, `tensor.size_overflow`, `tensor.sparse_dtype`,
    /// `tensor.sparse_overflow`, `tensor.sparse_rank` and `tensor.sparse_count`.
    [[nodiscard]] SparseStructure check_structure() const;

    /// Reads the indices, below a guard of the source that holds them. Returns the position of each
    /// value in the flattened tensor: int64, ascending, each within the tensor, none twice. Takes
    /// 8 bytes for each number in the indices and for each value. Throws Error
    /// `tensor.sparse_range`, `tensor.sparse_order`, `tensor.sparse_duplicate`, and what reading a
    /// tensor throws.
    [[nodiscard]] std::shared_ptr<source::OwnedBytes> positions(
        const SparseStructure& structure) const;

  private:
    [[nodiscard]] onnx::Message part(const wire::FieldRow& row) const {
        return document_.child(message_, row)
            .value_or(onnx::Message(onnx::message<"TensorProto">, ByteView{}));
    }
    [[nodiscard]] Tensor checked(const onnx::Message& part) const;
    [[nodiscard]] std::uint64_t dense_size(const std::vector<std::int64_t>& dims,
                                           const onnx::DataTypeInfo& type) const;
    [[nodiscard]] std::shared_ptr<source::OwnedBytes> read_indices(std::uint64_t count) const;
    [[noreturn]] void fail(const char* code, const std::string& message) const;
    [[noreturn]] void fail_indices(const SparseStructure& structure,
                                   const std::int64_t* table) const;

    const Document& document_;
    onnx::Message message_;
    bool finds_paths_ = true;
};

}  // namespace onnxmap::model
