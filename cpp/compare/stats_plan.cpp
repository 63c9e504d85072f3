#include "compare/stats_plan.hpp"

#include <utility>

namespace onnxmap::compare {

StatsPlan::StatsPlan(const model::Initializers& initializers,
                     std::span<const std::uint32_t> positions)
    : stored_(initializers) {
    results_.resize(positions.size());
    initializers.for_each_at(positions, [&](std::uint32_t at, const onnx::Message& message) {
        const model::Tensor tensor(stored_.document(), message);
        tensor.naming([&] { add(tensor, at); });
    });
    leave_strings_out();
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

void StatsPlan::leave_strings_out() {
    std::vector<std::uint32_t> new_positions(results_.size());
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < results_.size(); ++i) {
        new_positions[i] = kept;
        if (results_[i].type == nullptr) continue;
        if (kept != i) results_[kept] = std::move(results_[i]);
        ++kept;
    }
    results_.resize(kept);
    for (StatsItem& item : items_) item.requested_at = new_positions[item.requested_at];
}

}  // namespace onnxmap::compare
