#include "surgery/dataflow.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "model/list_names.hpp"

namespace onnxmap::surgery {

void Dataflow::reserve(const model::FieldIndex& body) {
    const wire::FieldRow& nodes = model::nodes_of(body.message());
    const std::uint64_t count = body.count(nodes);
    if (count >= kNone) throw std::length_error("more than 2^32 nodes in one graph");
    // Most nodes make one value, and use fewer than three. Memory that is left is not touched.
    const std::uint64_t likely = body.likely_names(nodes);
    names_.reserve(likely);
    makers_.reserve(likely);
    mentions_.reserve(3 * likely);
    ends_.resize(count);
}

void Dataflow::note(const model::NameTable::Added& value, const Role& role) {
    if (value.is_new) makers_.push_back(kNone);
    std::uint32_t& maker = makers_[value.position];
    if (role.kind == Kind::made) {
        if (maker != kNone && maker != role.node) made_twice_ = value.position;
        is_sorted_ = is_sorted_ && value.is_new;
        maker = role.node;
    } else if (role.kind == Kind::used_after && maker == role.node) {
        is_sorted_ = false;
    }
    mentions_.push_back(value.position | (role.kind == Kind::made ? kMade : 0));
    ends_[role.node] = static_cast<std::uint32_t>(mentions_.size());
}

void Dataflow::finish() {
    if (mentions_.size() >= kNone || value_count() >= kMade)
        throw std::length_error("more than 2^31 values in one graph");
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] = std::max(ends_[i], ends_[i - 1]);
}

void Dataflow::check_makers() const {
    if (made_twice_ == kNone) return;
    throw model::duplicate_name("node output", name(made_twice_), "look for it in node_outputs()");
}

Dataflow::Marks Dataflow::spread(Marks& values, Marks nodes) const {
    std::vector<std::uint32_t> waiting;
    const auto mark = [&](std::uint32_t node) {
        if (std::exchange(nodes[node], 1) != 0) return;
        for_each_made(node, [&](std::uint32_t value) {
            if (std::exchange(values[value], 1) == 0 && !is_sorted_) waiting.push_back(value);
        });
    };
    for (std::uint32_t node = 0; node < node_count(); ++node) {
        for_each_used(node, [&](std::uint32_t value) {
            if (values[value] != 0) mark(node);
        });
    }
    if (waiting.empty()) return nodes;
    // Some users came before.
    std::vector<std::uint32_t> ends(std::size_t{value_count()} + 1, 0);
    const auto for_each_use = [&](auto&& visit) {
        for (std::uint32_t node = 0; node < node_count(); ++node)
            for_each_used(node, [&](std::uint32_t value) { visit(value, node); });
    };
    for_each_use([&](std::uint32_t value, std::uint32_t) { ++ends[value + 1]; });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::uint32_t> users(ends.back());
    for_each_use([&](std::uint32_t value, std::uint32_t node) { users[ends[value]++] = node; });
    while (!waiting.empty()) {
        const std::uint32_t value = waiting.back();
        waiting.pop_back();
        for (std::uint32_t i = value == 0 ? 0 : ends[value - 1]; i < ends[value]; ++i)
            mark(users[i]);
    }
    return nodes;
}

model::TopologicalOrder Dataflow::order() const {
    check_makers();
    return model::topological_order(node_count(), [&](auto&& visit) {
        for (std::uint32_t node = 0; node < node_count(); ++node) {
            for_each_used(node, [&](std::uint32_t value) {
                if (makers_[value] != kNone) visit(makers_[value], node);
            });
        }
    });
}

}  // namespace onnxmap::surgery
