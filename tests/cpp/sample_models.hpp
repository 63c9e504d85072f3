// Small models as bytes. The field numbers of onnx.proto are written out, so a wrong number in the
// schema is noticed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire_bytes.hpp"

namespace onnxmap::test {

/// A TensorProto of UINT8 elements with these bytes as raw_data.
[[nodiscard]] inline Bytes raw_tensor(std::string_view name, const Bytes& content) {
    return join(scalar(1, content.size()), scalar(2, 2), blob(8, name), blob(9, content));
}

/// A segment of a TensorProto of two UINT8 elements.
[[nodiscard]] inline Bytes segment_tensor(std::string_view name, std::uint64_t begin,
                                          std::uint64_t end) {
    return join(scalar(1, 2), scalar(2, 2), blob(8, name), blob(9, Bytes(end - begin, 7)),
                blob(3, join(scalar(1, begin), scalar(2, end))));
}

[[nodiscard]] inline Bytes string_entry(std::string_view key, std::string_view value) {
    return join(blob(1, key), blob(2, value));
}

/// A TensorProto of `nbytes` UINT8 elements in an external file.
[[nodiscard]] inline Bytes external_tensor(std::string_view name, std::string_view location,
                                           std::uint64_t offset, std::uint64_t nbytes) {
    return join(scalar(1, nbytes), scalar(2, 2), blob(8, name),
                blob(13, string_entry("location", location)),
                blob(13, string_entry("offset", std::to_string(offset))),
                blob(13, string_entry("length", std::to_string(nbytes))), scalar(14, 1));
}

[[nodiscard]] inline Bytes attribute(std::string_view name, std::uint64_t type,
                                     const Bytes& value) {
    return join(blob(1, name), value, scalar(20, type));
}

[[nodiscard]] inline Bytes node(std::string_view op_type,
                                const std::vector<Bytes>& attributes = {}) {
    Bytes bytes = join(blob(1, "x"), blob(2, "y"), blob(4, op_type));
    for (const Bytes& one : attributes) append(bytes, blob(5, one));
    return bytes;
}

/// A node of some operator that uses and makes values, as the content of a NodeProto.
[[nodiscard]] inline Bytes operation(const std::vector<std::string_view>& inputs,
                                     const std::vector<std::string_view>& outputs,
                                     const Bytes& attributes = {}) {
    Bytes fields;
    for (const auto name : inputs) append(fields, blob(1, name));
    for (const auto name : outputs) append(fields, blob(2, name));
    return join(fields, blob(4, "Op"), attributes);
}

/// A ModelProto around the fields of a graph.
[[nodiscard]] inline Bytes graph_with(const std::vector<Bytes>& nodes) {
    Bytes graph = blob(2, "g");
    for (const Bytes& each : nodes) append(graph, blob(1, each));
    return graph;
}

[[nodiscard]] inline Bytes model(const Bytes& graph) {
    return join(scalar(1, 10), blob(2, "tests"), blob(7, graph),
                blob(8, join(blob(1, ""), scalar(2, 21))));
}

/// The smallest model that loads.
[[nodiscard]] inline Bytes tiny_model() { return model(blob(2, "g")); }

/// Has every construct that the structure pass treats differently: nesting, packed runs of each
/// width, unpacked values, payload, oneofs, merging, over-long forms, unknown fields and groups.
[[nodiscard]] inline Bytes varied_model() {
    const Bytes tensor_type =
        join(scalar(1, 1), blob(2, join(blob(1, scalar(1, 3)), blob(1, blob(2, "N")))));
    const Bytes value_info =
        join(blob(1, "x"), blob(2, join(blob(1, tensor_type), blob(6, "d"))), blob(3, "doc"));
    const Bytes typed =
        join(packed(1, {2, 3}), scalar(1, 4), scalar(2, 1), blob(4, from_hex("0000803f 00000040")),
             fixed32(4, 0x3f800000), packed(5, {1, 300, 0xffff'ffff'ffff'ffff}), blob(6, "s"),
             blob(6, ""), packed(7, {1, 1ULL << 62}), blob(8, "typed"),
             blob(10, from_hex("0000000000000440")), fixed64(10, 1),
             packed(11, {0xffff'ffff'ffff'ffff}));
    const Bytes sparse =
        join(blob(1, raw_tensor("v", {1, 2})), blob(2, raw_tensor("i", {0, 1})), packed(3, {9}));
    const Bytes subgraph = join(blob(2, "sub"), blob(1, node("Inner")));
    const std::vector<Bytes> attributes = {
        attribute("f", 1, fixed32(2, 0x3f800000)),
        attribute("ints", 7, packed(8, {1, 2, 3})),
        attribute("floats", 6, blob(7, from_hex("0000803f"))),
        attribute("t", 4, join(blob(5, raw_tensor("", {7})), blob(5, scalar(1, 1)))),
        attribute("g", 5, blob(6, subgraph)),
        attribute("bad type", 99, scalar(3, 5)),
    };
    const Bytes graph = join(blob(2, "graph"), blob(1, node("Conv", attributes)),
                             blob(1, node("Relu")), blob(5, raw_tensor("w", from_text("payload"))),
                             blob(5, typed), blob(5, external_tensor("e", "weights.bin", 0, 4)),
                             blob(15, sparse), blob(11, value_info), blob(12, value_info),
                             group(777, join(scalar(1, 1), group(778), fixed64(3, 5))),
                             blob(14, join(blob(1, "w"), blob(2, string_entry("SCALE", "s")))));
    return join(scalar(1, 8), tag(5, WireType::varint, 5), varint(1, 10),
                blob(2, from_text("p"), 5), fixed32(1, 7), blob(7, graph), scalar(999, 1),
                blob(7, Bytes{}), blob(7, join(blob(2, "again"), blob(1, node("Last")))),
                blob(14, string_entry("k", "v")), group(30, blob(1, "x")),
                blob(25, join(blob(1, "fn"), blob(4, "a"), blob(7, node("Add")), scalar(3, 1))),
                blob(20, blob(1, blob(2, "init"))));
}

}  // namespace onnxmap::test
