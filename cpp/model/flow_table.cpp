#include "model/flow_table.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "model/captured_values.hpp"
#include "model/list_names.hpp"
#include "model/node.hpp"
#include "os/parallel.hpp"

namespace onnxmap::model {

using onnx::field;

void FlowTable::Node::find_captured(const Use& use, std::uint32_t max_depth) const {
    CapturedUses uses([&](std::string_view name, const onnx::Message&, auto) { use(name); });
    uses.find_below(model::Node(message), max_depth);
}

namespace {

constexpr std::uint64_t kForThreads = 8192;  // nodes: with fewer, starting threads takes longer
constexpr std::uint64_t kBatch = 512;        // nodes that one of several threads reads at once
constexpr std::size_t kBatches = 4;          // that they read ahead
constexpr std::uint64_t kAlone = 32;         // nodes that a thread alone reads at once
constexpr std::size_t kAhead = 16;           // look-ups that are in flight at once

}  // namespace

void FlowTable::Batch::read(const onnx::Message& body, FieldIndex::Cursor& cursor,
                            std::uint64_t end) {
    nodes.clear();
    values.clear();
    ends.clear();
    const wire::FieldRow& list = nodes_of(body);
    wire::Field element;
    for (std::uint64_t i = cursor.position(); i < end && cursor.next(element); ++i) {
        Node& node =
            nodes.emplace_back(Node{body.inner(list, element), static_cast<std::uint32_t>(i)});
        // A switch, not for_each_field(): to look up the rows takes as long as the rest.
        Kind used = Kind::used;
        const auto add = [&](const wire::Field& name, Kind kind) {
            if (name.bytes.empty()) return;
            values.push_back({name.text(), NameTable::hash_of(name.text()), kind});
        };
        onnx::Message::Walk walk(node.message);
        for (wire::Field found; walk.next(found);) {
            if (found.type != wire::WireType::length_delimited) continue;  // no field below
            switch (found.number) {
                case field<"NodeProto.input">.number:
                    ++node.inputs;
                    add(found, used);
                    break;
                case field<"NodeProto.output">.number:
                    used = Kind::used_after;
                    add(found, Kind::made);
                    break;
                case field<"NodeProto.op_type">.number: node.op_type = found.text(); break;
                case field<"NodeProto.domain">.number: node.domain = found.text(); break;
                case field<"NodeProto.overload">.number: node.overload = found.text(); break;
                case field<"NodeProto.attribute">.number:
                    node.holds_graphs =
                        node.holds_graphs ||
                        Attribute(node.message.inner(field<"NodeProto.attribute">, found))
                            .may_hold_graph();
                    break;
                default: break;
            }
        }
        ends.push_back(values.size());
    }
}

void FlowTable::read(const FieldIndex& body, const Visit& visit) {
    const wire::FieldRow& nodes = nodes_of(body.message());
    const std::uint64_t likely = body.likely_names(nodes);
    const std::uint64_t count = body.count(nodes);
    reserve(count, likely);
    makers_.reserve(likely);
    if (count < kForThreads) {
        Batch batch;
        FieldIndex::Cursor cursor(body, nodes);
        for (std::uint64_t begin = 0; begin < count; begin += kAlone) {
            batch.read(body.message(), cursor, begin + kAlone);
            add_all(batch, visit);
        }
    } else {
        std::vector<Batch> batches(kBatches);
        os::for_each_range_in_order(
            count, kBatch, batches.size(),
            [&](std::uint64_t slot, std::uint64_t begin, std::uint64_t end) {
                FieldIndex::Cursor cursor(body, nodes);
                cursor.skip_to(begin);
                batches[slot].read(body.message(), cursor, end);
            },
            [&](std::uint64_t slot) { add_all(batches[slot], visit); });
    }
    finish();
}

void FlowTable::add_all(const Batch& batch, const Visit& visit) {
    std::uint32_t position = 0;
    const Use use = [&](std::string_view name) {
        const auto value = names().add(name);
        note(value, Kind::used_after, position);
        return value.position;
    };
    std::size_t next = 0;
    for (std::size_t i = 0; i < batch.nodes.size(); ++i) {
        position = batch.nodes[i].position;
        for (; next < batch.ends[i]; ++next) {
            if (next + kAhead < batch.values.size())
                names().prefetch(batch.values[next + kAhead].hash);
            const auto& [name, hash, kind] = batch.values[next];
            note(names().add(name, hash), kind, position);
        }
        visit(batch.nodes[i], use);
    }
}

void FlowTable::read_all(const FieldIndex& body, std::uint32_t max_depth) {
    read(body, [&](const Node& node, const Use& use) {
        if (node.holds_graphs) node.find_captured(use, max_depth);
    });
}

void FlowTable::note(const NameTable::Added& value, Kind kind, std::uint32_t node) {
    if (value.is_new) makers_.push_back(kNone);
    std::uint32_t& maker = makers_[value.position];
    if (kind == Kind::made) {
        if (maker != kNone && maker != node && has_single_makers()) made_twice_ = value.position;
        is_sorted_ = is_sorted_ && value.is_new;
        maker = node;
    } else if (kind == Kind::used_after && maker == node) {
        is_sorted_ = false;
    }
    Mentions::note(value.position | (kind == Kind::made ? kMade : 0), node);
}

void FlowTable::check_makers() const {
    if (has_single_makers()) return;
    throw duplicate_name("node output", name(made_twice_), "look for it in node_outputs()");
}

FlowTable::Marks FlowTable::spread(Marks& values, Marks nodes) const {
    std::vector<std::uint32_t> waiting;
    const auto mark = [&](std::uint32_t node) {
        if (std::exchange(nodes[node], 1) != 0) return;
        for_each_made(node, [&](std::uint32_t value) {
            if (std::exchange(values[value], 1) == 0 && !is_sorted_) waiting.push_back(value);
        });
    };
    for (std::uint32_t node = 0; node < element_count(); ++node) {
        for_each_used(node, [&](std::uint32_t value) {
            if (values[value] != 0) mark(node);
        });
    }
    if (waiting.empty()) return nodes;
    const Mentioners by_value(*this);  // some users came before
    while (!waiting.empty()) {
        const std::uint32_t value = waiting.back();
        waiting.pop_back();
        for (const std::uint32_t user : by_value.users(value)) mark(user);
    }
    return nodes;
}

TopologicalOrder FlowTable::order() const {
    check_makers();
    const std::uint32_t count = element_count();
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (is_sorted_) return {std::move(order), std::nullopt};

    const auto for_each_edge = [&](auto&& visit) {
        for (std::uint32_t node = 0; node < count; ++node) {
            for_each_used(node, [&](std::uint32_t value) {
                if (makers_[value] != kNone) visit(makers_[value], node);
            });
        }
    };
    std::vector<std::uint32_t> waits_for(count, 0);
    for_each_edge([&](std::uint32_t, std::uint32_t user) { ++waits_for[user]; });
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t node = 0; node < count; ++node) {
        if (waits_for[node] == 0) ready.push(node);
    }
    const Mentioners by_value(*this);
    Marks is_made(name_count());  // a node may have an output twice
    order.clear();
    while (!ready.empty()) {
        const std::uint32_t node = ready.top();
        ready.pop();
        order.push_back(node);
        for_each_made(node, [&](std::uint32_t value) {
            if (std::exchange(is_made[value], 1) != 0) return;
            for (const std::uint32_t user : by_value.users(value)) {
                if (--waits_for[user] == 0) ready.push(user);
            }
        });
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
