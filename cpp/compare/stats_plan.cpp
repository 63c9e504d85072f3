#include "compare/stats_plan.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "model/overlap_limit.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::compare {

StatsPlan::StatsPlan(const model::Initializers& initializers,
                     std::span<const std::uint32_t> positions)
    : document_(initializers.shared_document()), since_(document_->check_for_changes()) {
    results_.resize(positions.size());
    initializers.for_each_at(positions, [&](std::uint32_t at, const onnx::Message& message) {
        const model::Tensor tensor(*document_, message);
        tensor.naming([&] { add(tensor, at); });
    });
    leave_strings_out();
    std::ranges::sort(items_, {}, [](const StatsItem& item) {
        return std::tuple(item.source, item.offset, item.result);
    });
    model::check_overlap(*document_, sources_, named_nbytes_);
}

void StatsPlan::add(const model::Tensor& tensor, std::uint32_t requested_at) {
    if (tensor.type().bits == 0) return;
    const tensor::Values values = tensor.values(since_);
    StatsItem item{};
    item.type = &values.type();
    item.count = values.count();
    item.message = tensor.message().loaded();
    item.result = requested_at;
    item.is_whole = values.payload() == nullptr;
    std::shared_ptr<const source::Source> source = document_->source_of(item.message);
    item.offset = source->offset_of(item.message);
    if (values.payload() != nullptr) {
        source = values.payload()->source;
        item.offset = values.payload()->offset;
        item.stored_nbytes = values.payload()->nbytes;
    }
    item.source = source_number(source);
    // The bytes of the pieces count, too.
    if (values.in_pieces()) {
        values.for_each_range(
            [&](const auto& file, auto, auto) { static_cast<void>(source_number(file)); });
    }
    const std::uint64_t stored = values.in_pieces() ? values.stored_nbytes() : item.stored_nbytes;
    nbytes_ += item.nbytes();
    if (stored > 0) named_nbytes_ += std::max(stored, item.count * item.type->itemsize());
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
    for (StatsItem& item : items_) item.result = new_positions[item.result];
}

std::uint32_t StatsPlan::source_number(const std::shared_ptr<const source::Source>& source) {
    const auto number = static_cast<std::uint32_t>(sources_.size());
    const auto [entry, is_new] = source_numbers_.try_emplace(source.get(), number);
    if (is_new) sources_.push_back(source);
    return entry->second;
}

unsigned StatsPlan::reads_at_once() const noexcept {
    unsigned most = 1;
    for (const auto& source : sources_) most = std::max(most, source->read_habits().at_once);
    return most;
}

model::Tensor StatsPlan::tensor(const StatsItem& item) const {
    return {*document_,
            onnx::Message(onnx::message<"TensorProto">, item.message, &document_->edits())};
}

tensor::Values StatsPlan::values(const StatsItem& item) const {
    const tensor::TolerateQuietly quietly;
    tensor::Values values = tensor(item).values(since_);
    // Memory is allocated by the item's count and type.
    if (values.count() != item.count || &values.type() != item.type) fail_changed();
    return values;
}

void StatsPlan::release(const StatsItem& item) const noexcept {
    const source::Source& own = document_->source();
    if (!document_->store().holds(item.message)) return;  // an edit added it
    source::release(own, own.offset_of(item.message), item.message.size());
}

void StatsPlan::check_again() const {
    const source::Timestamp now = source::now();
    for (const auto& source : sources_) document_->store().check_after_reading(*source, now);
}

}  // namespace onnxmap::compare
