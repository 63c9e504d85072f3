#include "model/initializers.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/error.hpp"
#include "source/read_guard.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr const char* kAdvice = "iterate over initializers.all() to reach each of them";

// So many look-ups in one state of an edited graph ask the tables of its chunks, one after another.
// More are worth a table of all names.
constexpr std::uint32_t kFewLookUps = 32;

}  // namespace

onnx::Message Initializers::at(std::uint64_t position) const {
    if (position >= count()) throw std::out_of_range("no such initializer");
    return tensor_of(graph_->at(kField, position));
}

std::vector<std::uint32_t> Initializers::in_list_order(
    std::span<const std::uint32_t> positions) const {
    if (std::ranges::any_of(positions, [&](std::uint32_t each) { return each >= count(); })) {
        throw std::out_of_range("no such initializer");
    }
    std::vector<std::uint32_t> order(positions.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return positions[i]; });
    return order;
}

const ListNames& Initializers::names(bool frugal) const {
    return known_->names.get([&] {
        // Weights lie between the names: views of the file would map pages of them at every
        // look-up.
        auto names = std::make_unique<ListNames>("tensor", kAdvice, NameTable::Text::copied);
        for_each_name([&](std::string_view name) { names->add(name); }, frugal);
        if (names->has_repeated()) {
            for_each([&](const onnx::Message& tensor) {
                if (!tensor.has(field<"TensorProto.segment">)) return;
                names->add_segment(tensor.text(kName));
            });
        }
        return names;
    });
}

std::optional<ChunkNames::Found> Initializers::find_in_chunks(std::string_view name) const {
    if (!graph_->message().edited() || name.empty() || known_->names.if_made() != nullptr ||
        known_->look_ups.fetch_add(1, std::memory_order_relaxed) >= kFewLookUps) {
        return std::nullopt;
    }
    const Known::Chunks& chunks = known_->chunks.get([&] {
        return source::guard_reads(document_->source(), [&] {
            return std::make_unique<const Known::Chunks>(
                std::make_shared<const ChunkNames>(*graph_, kField, kName, known_->before.get()));
        });
    });
    const ChunkNames::Found found = chunks->find(name);
    if (found.count == ChunkNames::Found::Count::several) return std::nullopt;
    return found;
}

std::optional<std::uint32_t> Initializers::position(std::string_view name) const {
    const auto found = find_in_chunks(name);
    if (!found) return names().position(name);
    if (found->count == ChunkNames::Found::Count::none) return std::nullopt;
    return static_cast<std::uint32_t>(found->position);
}

bool Initializers::contains(std::string_view name) const {
    const auto found = find_in_chunks(name);
    return found ? found->count != ChunkNames::Found::Count::none : names().contains(name);
}

std::uint64_t Initializers::stored_nbytes() const {
    std::uint64_t sum = 0;
    for_each_tensor([&](const Tensor& tensor) {
        sum += tensor::stored_nbytes(tensor.message(), tensor.header());
    });
    return sum;
}

}  // namespace onnxmap::model
