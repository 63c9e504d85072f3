// The tensors whose statistics are asked for, in the order in which they are stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/initializers.hpp"
#include "model/tensor.hpp"
#include "read/stored_tensors.hpp"
#include "tensor/value_stats.hpp"

namespace onnxmap::compare {

struct TensorStats {
    std::string name;
    std::vector<std::int64_t> dims;
    const onnx::DataTypeInfo* type = nullptr;
    tensor::ValueStats values;
};

/// requested_at: the index among the plan's results.
struct StatsItem : read::StoredTensor {
    bool is_whole;  // it must be decoded; otherwise any part can be read by itself

    /// Bytes that are read, or made by decoding.
    [[nodiscard]] std::uint64_t nbytes() const noexcept {
        return is_whole ? count * type->itemsize() : stored_nbytes;
    }
};

class StatsPlan {
  public:
    /// `positions`: in the list of initializers. Tensors of strings have no item. Checks for
    /// changed files, then finds and checks all values; reads none. Throws Error `tensor.*`,
    /// `ext.*`, `file.changed`, Error `edit.concurrent`, and `limit.overlap` if the tensors refer
    /// to the same bytes too often.
    StatsPlan(const model::Initializers& initializers, std::span<const std::uint32_t> positions);

    [[nodiscard]] const read::StoredTensors& stored() const noexcept { return stored_; }
    /// The items, in the order in which they are stored.
    [[nodiscard]] std::span<const StatsItem> items() const noexcept { return items_; }
    /// The sum over the items.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
    /// The tensors in the order of the positions, with statistics of no values. A tensor of strings
    /// has no type here.
    [[nodiscard]] const std::vector<TensorStats>& results() const noexcept { return results_; }

  private:
    void add(const model::Tensor& tensor, std::uint32_t requested_at);

    read::StoredTensors stored_;
    std::vector<StatsItem> items_;
    std::vector<TensorStats> results_;
    std::uint64_t nbytes_ = 0;
};

}  // namespace onnxmap::compare
