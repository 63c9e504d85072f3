#include "fuzz/ask_questions.hpp"

#include <memory>
#include <string>

#include "base/error.hpp"
#include "fuzz/read_everything.hpp"
#include "model/equality.hpp"
#include "model/graph.hpp"
#include "model/message_hash.hpp"
#include "model/message_walk.hpp"
#include "model/name_table.hpp"

namespace onnxmap::fuzz {

namespace {

using onnx::field;

// What a graph may answer instead: two things have one name, or a node needs its own output.
template <class Ask>
void ask(Ask&& question) {
    try {
        question();
    } catch (const Error& error) {
        if (error.code != "model.duplicate_name" && error.code != "model.cycle") throw;
    }
}

void ask_graph(const model::Graph& graph, bool constant) {
    std::uint32_t position = 0;
    model::NameSet asked;  // a value may have very many users
    graph.for_each_node([&](const model::Node& node) {
        std::uint32_t index = 0;
        node.for_each_input([&](std::string_view name) {
            const std::uint32_t here = index++;
            if (name.empty() || position > 64 || !asked.insert(name).second) return;
            bool is_found = !constant;
            for (const model::UserOfValue& use : graph.users(name)) {
                is_found = is_found || (use.message.is(node.message()) && use.index == here);
                touch(use.message.loaded());
            }
            require(is_found, "a use of a value is not found");
        });
        node.for_each_output([&](std::string_view name) {
            ask([&] {
                const auto maker = graph.producer(name);
                require(!constant || name.empty() || maker->is(node.message()),
                        "a maker is not found");
            });
        });
        ++position;
    });
    ask([&] {
        require(graph.topological_order().size() == graph.node_count() || !constant,
                "an order of the nodes leaves some out");
    });
    ask([&] { static_cast<void>(graph.value("x")); });
    static_cast<void>(graph.dimension_params());
    static_cast<void>(graph.inputs(true));
    static_cast<void>(graph.op_counts());
}

}  // namespace

void ask_questions(const model::Document& document, bool constant) {
    const std::shared_ptr<const model::Document> borrowed(&document, [](auto*) {});
    model::for_each_node(document.root(), document.limits().depth,
                         [&](const std::string& path, const onnx::Message& node) {
                             touch(as_bytes(path));
                             touch(as_bytes(model::Node(node).op_type()));
                         });
    require(model::equal(document, document.root(), document, document.root()) || !constant,
            "a message differs from itself");
    require(
        model::hash_of(document, document.root()) == model::hash_of(document, document.root()) ||
            !constant,
        "a message has two hashes");
    if (&document.root().table() != &onnx::message<"ModelProto">) return;
    const auto graph = document.child(document.root(), field<"ModelProto.graph">);
    if (graph) ask_graph(model::Graph(borrowed, *graph), constant);
}

}  // namespace onnxmap::fuzz
