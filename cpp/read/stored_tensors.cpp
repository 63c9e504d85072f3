#include "read/stored_tensors.hpp"

#include "base/error.hpp"
#include "model/overlap_limit.hpp"

namespace onnxmap::read {

StoredTensors::StoredTensors(const model::Initializers& initializers)
    : document_(initializers.shared_document()), since_(document_->check_for_changes()) {}

unsigned StoredTensors::reads_at_once() const noexcept {
    unsigned most = 1;
    for (const auto& source : sources_) most = std::max(most, source->read_habits().at_once);
    return most;
}

StoredTensor StoredTensors::add(const model::Tensor& tensor, const tensor::Values& values,
                                std::uint32_t requested_at) {
    StoredTensor stored{};
    stored.type = &values.type();
    stored.count = values.count();
    stored.message = tensor.message().loaded();
    stored.requested_at = requested_at;
    std::shared_ptr<const source::Source> source = document_->source_of(stored.message);
    stored.offset = source->offset_of(stored.message);
    if (const tensor::Payload* const payload = values.payload()) {
        source = payload->source;
        stored.offset = payload->offset;
        stored.stored_nbytes = payload->nbytes;
    }
    stored.source = number_of(source);
    return stored;
}

void StoredTensors::count_bytes(const StoredTensor& tensor, const tensor::Values& values,
                                std::uint64_t made) {
    std::uint64_t nbytes = tensor.stored_nbytes;
    if (values.in_pieces()) {
        nbytes = values.stored_nbytes();
        values.for_each_range(
            [&](const auto& file, auto, auto) { static_cast<void>(number_of(file)); });
    }
    if (nbytes > 0) named_nbytes_ += std::max(nbytes, made);
}

void StoredTensors::check_overlap() const {
    model::check_overlap(*document_, sources_, named_nbytes_);
}

std::uint32_t StoredTensors::number_of(const std::shared_ptr<const source::Source>& source) {
    const auto number = static_cast<std::uint32_t>(sources_.size());
    const auto [entry, is_new] = numbers_.try_emplace(source.get(), number);
    if (is_new) sources_.push_back(source);
    return entry->second;
}

model::Tensor StoredTensors::tensor(const StoredTensor& tensor) const {
    return {*document_,
            onnx::Message(onnx::message<"TensorProto">, tensor.message, &document_->edits())};
}

tensor::Values StoredTensors::values(const StoredTensor& stored) const {
    const tensor::TolerateQuietly quietly;
    tensor::Values values = tensor(stored).values(since_);
    // Memory is allocated by the count and the type.
    if (values.count() != stored.count || &values.type() != stored.type) fail_changed();
    return values;
}

void StoredTensors::release(const StoredTensor& tensor) const noexcept {
    const source::Source& own = document_->source();
    if (!document_->store().holds(tensor.message)) return;  // an edit added it
    source::release(own, own.offset_of(tensor.message), tensor.message.size());
}

}  // namespace onnxmap::read
