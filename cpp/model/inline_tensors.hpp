// The tensors whose values stay in the message of the model, because other programs look for them
// nowhere else. onnx and onnxruntime open no data file while they infer shapes: the values that
// decide a shape must be there. onnx.load finds no external data in training_info.
// Source: onnx, ParseData in defs/tensor_proto_util.cc, and load_external_data_for_model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "model/document.hpp"
#include "onnx/message.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

class InlineTensors {
  public:
    /// Of the document as it is now, which must outlive this.
    explicit InlineTensors(const Document& document) : document_(document) {}

    /// Whether the values of a tensor stay in the model: it may decide a shape, or it is part of
    /// training_info. `path`: of the tensor. `nbytes`: of its values in raw_data.
    [[nodiscard]] bool contains(std::string_view path, const tensor::Header& tensor,
                                std::uint64_t nbytes) const {
        return path.starts_with("training_info[") || may_decide_shape(tensor, nbytes);
    }

    /// Whether a tensor decides a shape, or has integers of less than 64 KiB, which may become a
    /// shape on their way through other nodes.
    [[nodiscard]] bool may_decide_shape(const tensor::Header& tensor, std::uint64_t nbytes) const;

    /// Whether an operator reads the tensor as a shape, axes, sizes, repeats, pads or the like. The
    /// first tensor that may be one costs a walk over all nodes. Throws Error `file.changed` if
    /// messages are nested too deep.
    [[nodiscard]] bool decides_shape(const tensor::Header& tensor) const;

  private:
    using Keys = std::unordered_set<const std::uint8_t*>;  // of messages

    const Document& document_;
    mutable std::unique_ptr<const Keys> operands_;
};

}  // namespace onnxmap::model
