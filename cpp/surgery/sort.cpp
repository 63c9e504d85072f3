#include "surgery/sort.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/default_graphs.hpp"
#include "model/edit_message.hpp"
#include "model/flow_table.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/node.hpp"
#include "model/training_uses.hpp"
#include "surgery/bodies.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/verb.hpp"

namespace onnxmap::surgery {

using model::FlowTable;
using onnx::field;
using onnx::Message;

namespace {

// Finds the bodies whose nodes are to move. One walk finds the subgraphs, too.
class Sorting {
  public:
    explicit Sorting(const model::Document& document) : document_(document) {
        const std::uint32_t depth = document.limits().depth + 1;
        const Message root = document.root();
        const Message main = model::main_graph_message(document);
        visit(main, "graph", depth);
        std::size_t training = 0;
        for (const Message& each : model::training_info_of(document, main)) {
            const std::string path = "training_info[" + std::to_string(training++) + "].";
            model::for_each_training_graph(each,
                                           [&](const Message& graph, const wire::FieldRow& row) {
                                               visit(graph, path + std::string(row.name), depth);
                                           });
        }
        for (const PlacedBody& function : all_functions(document)) {
            visit(function.message, function.path, depth);
            visit_below(function.message, field<"FunctionProto.attribute_proto">,
                        function.path + ".attribute_proto", depth);
        }
    }

    void apply() const {
        for (const auto& [body, order] : moved_) {
            const Message now = body.current();
            model::reorder(document_, now, model::nodes_of(now), order);
        }
    }

  private:
    void visit(const Message& body, const std::string& path, std::uint32_t depth_left) {
        if (depth_left == 0) onnx::fail_too_deep(body);
        const auto fields = document_.index(body);
        const wire::FieldRow& nodes = model::nodes_of(body);
        for (const std::uint32_t i : visit_nodes(*fields, path)) {
            visit_below(body.inner(nodes, fields->at(nodes, i)), field<"NodeProto.attribute">,
                        path + ".node[" + std::to_string(i) + "].attribute", depth_left);
        }
    }

    // Returns which nodes hold graphs.
    std::vector<std::uint32_t> visit_nodes(const model::FieldIndex& body, const std::string& path) {
        FlowTable flow;
        std::vector<std::uint32_t> holders;
        flow.read(body, [&](const FlowTable::Node& node, const FlowTable::Use& use) {
            if (!node.holds_graphs) return;
            holders.push_back(node.position);
            node.find_captured(use, document_.limits().depth);
        });
        if (!flow.is_sorted()) {
            model::check_no_default_graphs(document_, body.message(), model::kRemoveDefault);
            reorder(body.message(), flow, path);
        }
        return holders;
    }

    // The graphs in attributes.
    void visit_below(const Message& holder, const wire::FieldRow& list, const std::string& path,
                     std::uint32_t depth_left) {
        std::uint64_t position = 0;
        for (const model::Attribute& each : model::attributes(holder, list)) {
            const std::string place = path + model::path_key(path, each.name(), position++);
            for_each_graph_of(each, [&](const Message& graph, const std::string& inner) {
                visit(graph, place + inner, depth_left - 1);
            });
        }
    }

    void reorder(const Message& body, const FlowTable& flow, const std::string& path) {
        const auto [order, in_cycle] = flow.order();
        if (in_cycle) {
            const std::string place = path + ".node[" + std::to_string(*in_cycle) + "]";
            Error error("model.cycle",
                        {place, " depends on its own output, so no order can run it"});
            error.path = place;
            throw error;
        }
        if (!std::ranges::is_sorted(order))
            moved_.emplace_back(body, std::vector<std::uint64_t>(order.begin(), order.end()));
    }

    const model::Document& document_;
    std::vector<std::pair<Message, std::vector<std::uint64_t>>> moved_;
};

}  // namespace

void sort(const model::Document& document) {
    run_verb(document, [&] { Sorting(document).apply(); });
}

}  // namespace onnxmap::surgery
