#include "surgery/inlinable.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/function_names.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "surgery/called_functions.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

void check_names(const Message& function, std::uint32_t max_depth) {
    const std::string key = model::function_key(function);
    model::NameSet inputs;
    model::NameSet made;
    const wire::FieldRow& formal = field<"FunctionProto.input">;
    function.for_each_value(formal, [&](const wire::Field& each) { inputs.insert(each.text()); });
    const auto note = [&](std::string_view name) {
        if (!name.empty() && inputs.contains(name)) {
            throw std::invalid_argument("a node or subgraph of the function " + in_quotes(key) +
                                        " makes a value " + in_quotes(name) +
                                        ", which is also the name of its input: rename one before");
        }
    };
    model::CapturedUses uses({}, note);
    const wire::FieldRow& nodes = field<"FunctionProto.node">;
    function.for_each_value(nodes, [&](const wire::Field& each) {
        const model::Node node(function, nodes, each);
        node.for_each_output([&](std::string_view name) {
            note(name);
            made.insert(name);
        });
        uses.find_below(node, max_depth);
    });
    function.for_each_value(field<"FunctionProto.output">, [&](const wire::Field& each) {
        if (made.contains(each.text()) || inputs.contains(each.text())) return;
        throw std::invalid_argument("no node of the function " + in_quotes(key) +
                                    " makes its output " + in_quotes(each.text()));
    });
}

void check_call(const Message& node, const std::string& function, const InlinedSize& size) {
    const auto check = [&](const wire::FieldRow& given, std::uint64_t most, const char* what) {
        const std::uint64_t count = node.count(given);
        if (count <= most) return;
        throw std::invalid_argument(text_from({"a node calls the function ", Quoted(function),
                                               " with ", count, " ", what, ", but it has ", most}));
    };
    check(field<"NodeProto.input">, size.inputs, "inputs");
    check(field<"NodeProto.output">, size.outputs, "outputs");
}

}  // namespace onnxmap::surgery
