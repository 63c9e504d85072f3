#include "model/sparse_tensor.hpp"

#include <string>

#include "base/error.hpp"
#include "model/tensor_path.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

std::vector<std::int64_t> SparseTensor::dims() const {
    std::vector<std::int64_t> dims;
    std::uint64_t rank = 0;
    message_.for_each_value(onnx::field<"SparseTensorProto.dims">, [&](const wire::Field& value) {
        if (++rank <= tensor::kMaxRank) dims.push_back(value.int64());
    });
    if (rank > tensor::kMaxRank) {
        Error error("tensor.rank",
                    "it has " + std::to_string(rank) + " dimensions; NumPy supports at most 64");
        error.tensor = name();
        if (error.tensor.empty()) {
            error.tensor = sparse_tensor_path(document_, message_.piece(0).data());
        }
        throw error;
    }
    return dims;
}

}  // namespace onnxmap::model
