#include "model/default_graphs.hpp"

#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "model/function_names.hpp"
#include "model/node.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::Message;

std::optional<Attribute> default_graph(const Message& function) {
    std::optional<Attribute> found;
    function.for_each_child(field<"FunctionProto.attribute_proto">, [&](const Message& each) {
        if (found) return;
        const Attribute attribute(each);
        attribute.for_each_graph([&](const Message&) { found = attribute; });
    });
    return found;
}

void check_no_default_graphs(const Document& document, const Message& body,
                             std::string_view advice) {
    Message outermost = body;
    while (const auto outer = document.outer_scope(outermost)) outermost = outer->body;
    if (!is_function(outermost)) return;
    const auto found = default_graph(outermost);
    if (!found) return;
    throw std::invalid_argument("the function " + in_quotes(function_key(outermost)) +
                                " has a graph as the default of its attribute " +
                                in_quotes(found->name()) + ": " + std::string(advice));
}

}  // namespace onnxmap::model
