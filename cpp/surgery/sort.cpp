#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/node.hpp"
#include "model/training_uses.hpp"
#include "model/value_uses.hpp"
#include "surgery/bodies.hpp"
#include "surgery/clean.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

// Whether each node comes after those whose values it uses, as in nearly all models: no output was
// mentioned before. That takes half of the time of ValueUses.
class OrderCheck {
  public:
    OrderCheck(const model::FieldIndex& body, std::uint32_t max_depth) : max_depth_(max_depth) {
        const wire::FieldRow& nodes = model::nodes_of(body.message());
        names_.reserve(body.likely_names(nodes));
        std::uint32_t position = 0;
        body.for_each(nodes, [&](const wire::Field& element) {
            read(body.message().inner(nodes, element), position++);
        });
        in_flight_.finish(note_);
    }

    [[nodiscard]] bool is_sorted() const noexcept { return is_sorted_; }
    /// The positions of the nodes that hold graphs.
    [[nodiscard]] const std::vector<std::uint32_t>& holders() const noexcept { return holders_; }

  private:
    struct Note {
        bool& is_sorted;
        void operator()(const model::NameTable::Added& name, bool is_output) const {
            if (is_output && !name.is_new) is_sorted = false;
        }
    };

    // The outputs come last, wherever they are in the file: a node may use its own.
    void read(const Message& node, std::uint32_t position) {
        bool holds_graphs = false;
        outputs_.clear();
        node.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
            if (row == &field<"NodeProto.input">) {
                add(found.text(), false);
            } else if (row == &field<"NodeProto.output">) {
                outputs_.push_back(found.text());
            } else if (row == &field<"NodeProto.attribute">) {
                holds_graphs =
                    holds_graphs || model::Attribute(node.inner(*row, found)).may_hold_graph();
            }
        });
        if (holds_graphs) {
            holders_.push_back(position);
            model::CapturedUses uses(
                [&](std::string_view name, const Message&, std::uint32_t) { add(name, false); });
            uses.find_below(model::Node(node), max_depth_);
        }
        for (const std::string_view output : outputs_) add(output, true);
    }

    void add(std::string_view name, bool is_output) {
        if (is_sorted_ && !name.empty()) in_flight_.add(name, is_output, note_);
    }

    std::uint32_t max_depth_;
    bool is_sorted_ = true;
    Note note_{is_sorted_};
    model::NameTable names_;
    model::NamesInFlight<bool> in_flight_{names_};
    std::vector<std::string_view> outputs_;  // of the node that is read; keeps its memory
    std::vector<std::uint32_t> holders_;
};

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
        const OrderCheck check(*fields, document_.limits().depth);
        if (!check.is_sorted()) reorder(*fields, path);
        const wire::FieldRow& nodes = model::nodes_of(body);
        for (const std::uint32_t i : check.holders()) {
            visit_below(body.inner(nodes, fields->at(nodes, i)), field<"NodeProto.attribute">,
                        path + ".node[" + std::to_string(i) + "].attribute", depth_left);
        }
    }

    // The graphs in attributes.
    void visit_below(const Message& holder, const wire::FieldRow& list, const std::string& path,
                     std::uint32_t depth_left) {
        std::uint64_t position = 0;
        for (const model::Attribute& each : model::attributes(holder, list).entries) {
            const std::string place = path + model::path_key(path, each.name(), position++);
            std::uint64_t i = 0;
            each.for_each_graph([&](const Message& graph) {
                visit(graph, place + graph_place(each, i++), depth_left - 1);
            });
        }
    }

    void reorder(const model::FieldIndex& body, const std::string& path) {
        const auto order = order_of(body, path);
        if (std::ranges::is_sorted(order)) return;
        moved_.emplace_back(body.message(), std::vector<std::uint64_t>(order.begin(), order.end()));
    }

    [[nodiscard]] std::vector<std::uint32_t> order_of(const model::FieldIndex& body,
                                                      const std::string& path) const {
        const model::ValueUses uses(body, document_.limits().depth);
        try {
            return uses.topological_order();
        } catch (const Error& error) {
            if (error.code != "model.cycle") throw;
            const std::string place = path + error.path.substr(error.path.find('.'));
            Error placed(error.code, place + " depends on its own output, so no order can run it");
            placed.path = place;
            throw placed;
        }
    }

    const model::Document& document_;
    std::vector<std::pair<Message, std::vector<std::uint64_t>>> moved_;
};

}  // namespace

void sort(const model::Document& document) {
    model::check_editable(document, document.root());
    Sorting(document).apply();
}

}  // namespace onnxmap::surgery
