#include "model/initializers.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "source/read_guard.hpp"
#include "tensor/header.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr const char* kAdvice = "iterate over initializers.all() to reach each of them";

}  // namespace

onnx::Message Initializers::at(std::uint64_t position) const {
    if (position >= count()) onnx::fail_edited_meanwhile();
    return tensor_of(graph_->at(kField, position));
}

std::vector<std::uint32_t> Initializers::in_list_order(
    std::span<const std::uint32_t> positions) const {
    if (std::ranges::any_of(positions, [&](std::uint32_t each) { return each >= count(); })) {
        onnx::fail_edited_meanwhile();
    }
    std::vector<std::uint32_t> order(positions.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return positions[i]; });
    return order;
}

const ListNames& Initializers::names(bool release_pages) const {
    return names_->get([&] {
        // Weights lie between the names: views of the file would map pages of them at every
        // look-up.
        auto names = std::make_unique<ListNames>("tensor", kAdvice, NameTable::Text::copied);
        for_each_name([&](std::string_view name) { names->add(name); }, release_pages);
        if (names->has_repeated()) {
            for_each([&](const onnx::Message& tensor) {
                if (!tensor::is_segment(tensor)) return;
                names->add_segment(tensor.text(kName));
            });
        }
        return names;
    });
}

std::optional<NamedList> Initializers::edited() const {
    if (!document_->was_edited() || !document_->is_followed(graph_->message())) {
        return std::nullopt;
    }
    return NamedList(*document_, *graph_, kField, kName);
}

std::optional<std::uint32_t> Initializers::position(std::string_view name) const {
    if (const auto list = edited(); list && !name.empty()) {
        const auto found = list->positions(name);
        if (found.empty()) return std::nullopt;
        if (found.size() == 1) return static_cast<std::uint32_t>(found.front());
    }
    return names().position(name);
}

bool Initializers::contains(std::string_view name) const {
    const auto list = edited();
    return list ? !name.empty() && list->count(name) != 0 : names().contains(name);
}

std::uint64_t Initializers::name_count() const {
    const auto list = edited();
    if (!list) return names().count();
    return list->names() - (list->count("") == 0 ? 0 : 1);
}

void Initializers::read_names(bool release_pages) const {
    if (!edited()) static_cast<void>(names(release_pages));
}

std::uint64_t Initializers::stored_nbytes() const {
    std::uint64_t sum = 0;
    for_each_tensor([&](const Tensor& tensor) {
        sum += tensor::stored_nbytes(tensor.message(), tensor.header());
    });
    return sum;
}

}  // namespace onnxmap::model
