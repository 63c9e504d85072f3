// An order of nodes in which each comes after those that it depends on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace onnxmap::model {

/// The positions of the nodes in order, and a node of a cycle if they are not all.
struct TopologicalOrder {
    std::vector<std::uint32_t> nodes;
    std::optional<std::uint32_t> in_cycle;
};

/// Otherwise the order stays. `for_each_edge(visit)` calls visit(maker, user) for each use of what
/// a node makes by a node, and does so each time in the same order.
template <class ForEachEdge>
[[nodiscard]] TopologicalOrder topological_order(std::uint32_t count, ForEachEdge&& for_each_edge) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    bool is_sorted = true;
    for_each_edge(
        [&](std::uint32_t maker, std::uint32_t user) { is_sorted = is_sorted && maker < user; });
    if (is_sorted) return {std::move(order), std::nullopt};

    std::vector<std::uint32_t> ends(std::size_t{count} + 1, 0);
    std::vector<std::uint32_t> waits_for(count, 0);
    for_each_edge([&](std::uint32_t maker, std::uint32_t user) {
        ++ends[maker + 1];
        ++waits_for[user];
    });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::uint32_t> users(ends.back());
    for_each_edge([&](std::uint32_t maker, std::uint32_t user) { users[ends[maker]++] = user; });

    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t node = 0; node < count; ++node) {
        if (waits_for[node] == 0) ready.push(node);
    }
    order.clear();
    while (!ready.empty()) {
        const std::uint32_t node = ready.top();
        ready.pop();
        order.push_back(node);
        for (std::uint32_t i = node == 0 ? 0 : ends[node - 1]; i < ends[node]; ++i) {
            if (--waits_for[users[i]] == 0) ready.push(users[i]);
        }
    }
    if (order.size() == count) return {std::move(order), std::nullopt};

    // Each node that is left waits for another one that is left: going from one to the next ends in
    // a cycle.
    std::vector<std::uint32_t> left_maker(count, 0);
    for_each_edge([&](std::uint32_t maker, std::uint32_t user) {
        if (waits_for[maker] > 0) left_maker[user] = maker;
    });
    const auto first_left = std::ranges::find_if(waits_for, [](auto waits) { return waits > 0; });
    auto node = static_cast<std::uint32_t>(first_left - waits_for.begin());
    for (std::uint32_t steps = 0; steps < count; ++steps) node = left_maker[node];
    return {std::move(order), node};
}

}  // namespace onnxmap::model
