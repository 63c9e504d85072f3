#include "surgery/inlined_size.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "onnx/schema.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr std::uint64_t kBytesOfNode = 64;    // what a node takes besides its own bytes, at least
constexpr std::uint64_t kBytesOfNumber = 16;  // behind a name that is taken
// What is kept in memory of an input, an output or an attribute of a call, while it is inlined.
constexpr std::uint64_t kBytesOfBound = 96;

// Adds what a call may make larger in a message at a depth.
void count(const Message& message, const wire::FieldRow& holder, std::uint32_t depth,
           std::uint32_t max_depth, InlinedSize& size) {
    if (depth > max_depth) onnx::fail_too_deep(message);
    size.depth = std::max(size.depth, depth);
    if (model::is_node(message)) ++size.nodes;
    message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == nullptr) return;
        if (row->is_message()) {
            count(message.inner(*row, each), *row, depth + 1, max_depth, size);
        } else if (names_value(holder, *row)) {
            ++size.names;
        } else if (row == &field<"AttributeProto.ref_attr_name">) {
            ++size.references;
        }
    });
}

InlinedSize given_by(const Message& call, std::uint32_t max_depth) {
    InlinedSize given;
    count(call, field<"FunctionProto.node">, 0, max_depth, given);
    return given;
}

// Outputs that no node of the function makes alone: inputs, and one value that is several outputs.
// Each becomes a node.
std::uint64_t count_identities(const Message& function) {
    model::NameSet known;
    function.for_each_value(field<"FunctionProto.input">,
                            [&](const wire::Field& each) { known.insert(each.text()); });
    std::uint64_t identities = 0;
    function.for_each_value(field<"FunctionProto.output">, [&](const wire::Field& each) {
        if (!known.insert(each.text()).second) ++identities;
    });
    return identities;
}

}  // namespace

std::uint64_t InlinedSize::nbytes_of(const Message& call) const {
    std::uint64_t name = 0;
    const auto measure = [&](const wire::Field& each) {
        name = std::max<std::uint64_t>(name, each.text().size());
    };
    call.for_each_value(field<"NodeProto.input">, measure);
    call.for_each_value(field<"NodeProto.output">, measure);
    std::uint64_t bound = 0;
    std::uint64_t metadata = 0;
    call.for_each_child(field<"NodeProto.metadata_props">, [&](const Message& each) {
        metadata = add_sat(metadata, each.nbytes());
        ++bound;
    });
    std::uint64_t attribute = default_nbytes;
    call.for_each_child(field<"NodeProto.attribute">, [&](const Message& each) {
        attribute = std::max<std::uint64_t>(attribute, each.nbytes());
        ++bound;
    });
    return add_sat(
        add_sat(add_sat(nbytes, mul_sat(bound, kBytesOfBound)), mul_sat(nodes, metadata)),
        add_sat(mul_sat(names, name + kBytesOfNumber), mul_sat(references, attribute)));
}

std::uint32_t InlinedSize::depth_of(const Message& call, std::uint32_t at,
                                    std::uint32_t max_depth) const {
    std::uint32_t deepest = at + depth - std::min<std::uint32_t>(depth, 1);
    if (references > 0) deepest += std::max(default_depth, given_by(call, max_depth).depth);
    if (deepest > max_depth) {
        throw Error("limit.depth", {"the nodes of a function would be nested more than ", max_depth,
                                    " deep; raise the limit with limits=Limits(depth=...)"});
    }
    return deepest;
}

void InlinedSize::add_call(const Message& call, std::uint32_t at, const InlinedSize& called,
                           std::uint32_t max_depth) {
    nbytes = add_sat(nbytes, called.nbytes_of(call));
    depth = std::max(depth, called.depth_of(call, at, max_depth));
    // In the call's attributes, which may be put in for each reference.
    const InlinedSize given = given_by(call, max_depth);
    const auto add = [&](std::uint64_t& sum, std::uint64_t of_called, std::uint64_t of_given) {
        sum = add_sat(sum, add_sat(of_called, mul_sat(of_given, called.references)));
    };
    add(nodes, called.nodes, given.nodes);
    add(names, called.names, given.names);
    add(references, called.references, given.references);
}

InlinedSize size_of(const Message& function, std::uint32_t max_depth) {
    InlinedSize size;
    count(function, field<"ModelProto.functions">, 0, max_depth, size);
    const std::uint64_t identities = count_identities(function);
    size.nodes += identities;
    size.names += 2 * identities;
    size.nbytes = add_sat(function.nbytes(), mul_sat(size.nodes, kBytesOfNode));
    size.inputs = function.count(field<"FunctionProto.input">);
    size.outputs = function.count(field<"FunctionProto.output">);
    size.nbytes = add_sat(size.nbytes, mul_sat(size.inputs + size.outputs + 2, kBytesOfBound));
    const wire::FieldRow& defaults = field<"FunctionProto.attribute_proto">;
    function.for_each_child(defaults, [&](const Message& attribute) {
        size.nbytes = add_sat(size.nbytes, kBytesOfBound);
        InlinedSize found;
        count(attribute, defaults, 1, max_depth, found);
        size.default_depth = std::max(size.default_depth, found.depth);
        size.default_nbytes = std::max<std::uint64_t>(size.default_nbytes, attribute.nbytes());
    });
    return size;
}

}  // namespace onnxmap::surgery
