#include <utility>

#include "base/error.hpp"
#include "model/edit_message.hpp"
#include "model/node.hpp"
#include "model/value_uses.hpp"
#include "surgery/bodies.hpp"
#include "surgery/clean.hpp"

namespace onnxmap::surgery {

namespace {

std::vector<std::uint32_t> order_of(const model::Document& document, const PlacedBody& body) {
    const auto fields = document.index(body.message);
    const model::ValueUses uses(*fields, document.limits().depth);
    try {
        return uses.topological_order();
    } catch (const Error& error) {
        if (error.code != "model.cycle") throw;
        const std::string path = body.path + error.path.substr(error.path.find('.'));
        Error placed(error.code, path + " depends on its own output, so no order can run it");
        placed.path = path;
        throw placed;
    }
}

}  // namespace

void sort(const model::Document& document) {
    model::check_editable(document, document.root());
    std::vector<std::pair<onnx::Message, std::vector<std::uint64_t>>> moved;
    for (PlacedBody& body : all_bodies(document)) {
        const auto order = order_of(document, body);
        bool is_sorted = true;
        for (std::uint32_t i = 0; i < order.size() && is_sorted; ++i) is_sorted = order[i] == i;
        if (is_sorted) continue;
        moved.emplace_back(std::move(body.message),
                           std::vector<std::uint64_t>(order.begin(), order.end()));
    }
    for (const auto& [body, order] : moved) {
        const onnx::Message now = body.current();
        model::reorder(document, now, model::nodes_of(now), order);
    }
}

}  // namespace onnxmap::surgery
