#include "compare/stats_plan.hpp"

namespace onnxmap::compare {

StatsPlan::StatsPlan(const model::Initializers& initializers,
                     std::span<const std::uint32_t> positions)
    : stored_(initializers) {
    results_.resize(positions.size());
    initializers.for_each_at(positions, [&](std::uint32_t at, const onnx::Message& message) {
        const model::Tensor tensor(stored_.document(), message);
        tensor.naming([&] { add(tensor, at); });
    });
    read::sort_as_stored(items_);
    stored_.check_overlap();
}

void StatsPlan::add(const model::Tensor& tensor, std::uint32_t requested_at) {
    if (tensor.type().bits == 0) return;
    const tensor::Values values = stored_.find(tensor);
    const StatsItem item{stored_.add(tensor, values, requested_at), values.payload() == nullptr};
    nbytes_ += item.nbytes();
    stored_.count_bytes(item, values, item.count * item.type->itemsize());
    const auto dims = tensor.header().dims();
    results_[requested_at] = {std::string(tensor.header().name),
                              std::vector<std::int64_t>(dims.begin(), dims.end()), item.type,
                              tensor::ValueStats()};
    items_.push_back(item);
}

}  // namespace onnxmap::compare
