#include "model/initializers.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/error.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr const char* kAdvice = "iterate over initializers.all() to reach each of them";

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
    return names_->get([&] {
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

std::uint64_t Initializers::stored_nbytes() const {
    std::uint64_t sum = 0;
    for_each_tensor([&](const Tensor& tensor) {
        sum += tensor::stored_nbytes(tensor.message(), tensor.header());
    });
    return sum;
}

}  // namespace onnxmap::model
