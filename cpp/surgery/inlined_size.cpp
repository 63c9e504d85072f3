#include "surgery/inlined_size.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "model/node.hpp"
#include "onnx/schema.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr std::uint64_t kBytesOfNode = 64;    // what a node takes besides its own bytes, at least
constexpr std::uint64_t kBytesOfNumber = 16;  // behind a name that is taken

// Adds what a call may make larger in a message.
void count(const Message& message, const wire::FieldRow& holder, std::uint32_t depth_left,
           InlinedSize& size) {
    if (depth_left == 0) onnx::fail_too_deep(message);
    if (model::is_node(message)) ++size.nodes;
    message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == nullptr) return;
        if (row->is_message()) {
            count(message.inner(*row, each), *row, depth_left - 1, size);
        } else if (names_value(holder, *row)) {
            ++size.names;
        } else if (row == &field<"AttributeProto.ref_attr_name">) {
            ++size.references;
        }
    });
}

// The bytes of the largest message in a field.
std::uint64_t largest(const Message& message, const wire::FieldRow& row) {
    std::uint64_t most = 0;
    message.for_each_value(row, [&](const wire::Field& each) {
        most = std::max<std::uint64_t>(most, message.inner(row, each).nbytes());
    });
    return most;
}

}  // namespace

std::uint64_t InlinedSize::nbytes_of(const Message& call, const Message& function) const {
    std::uint64_t name = 0;
    const auto measure = [&](const wire::Field& each) {
        name = std::max<std::uint64_t>(name, each.text().size());
    };
    call.for_each_value(field<"NodeProto.input">, measure);
    call.for_each_value(field<"NodeProto.output">, measure);
    std::uint64_t metadata = 0;
    const wire::FieldRow& entries = field<"NodeProto.metadata_props">;
    call.for_each_value(entries, [&](const wire::Field& each) {
        metadata = add_sat(metadata, call.inner(entries, each).nbytes());
    });
    const std::uint64_t attribute =
        std::max(largest(call, field<"NodeProto.attribute">),
                 largest(function, field<"FunctionProto.attribute_proto">));
    return add_sat(add_sat(nbytes, mul_sat(nodes, metadata)),
                   add_sat(mul_sat(names, name + kBytesOfNumber), mul_sat(references, attribute)));
}

void InlinedSize::add_call(const Message& call, const Message& called, const InlinedSize& size,
                           std::uint32_t max_depth) {
    nbytes = add_sat(nbytes, size.nbytes_of(call, called));
    InlinedSize given;  // in the call's attributes, which may be put in for each reference
    count(call, field<"FunctionProto.node">, max_depth, given);
    nodes = add_sat(nodes, add_sat(size.nodes, mul_sat(given.nodes, size.references)));
    names = add_sat(names, add_sat(size.names, mul_sat(given.names, size.references)));
    references =
        add_sat(references, add_sat(size.references, mul_sat(given.references, size.references)));
}

InlinedSize size_of(const Message& function, std::uint32_t max_depth) {
    InlinedSize size;
    count(function, field<"ModelProto.functions">, max_depth, size);
    size.nbytes = add_sat(function.nbytes(), mul_sat(size.nodes, kBytesOfNode));
    return size;
}

}  // namespace onnxmap::surgery
