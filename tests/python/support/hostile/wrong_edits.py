"""Edits that protobuf refuses, for tests that onnxmap refuses them with the same class of error.

The statements are about `m`, the messages `g`, `n`, `node`, `tensor`, `kind` (a TypeProto) and
`dims` within it, and `new(name, **fields)`. The classes are found by running protobuf, so that the
table has none.
"""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from support.oracles.canonical import message_class

# What protobuf and onnxmap must both refuse, by the kind of mistake.
WRONG: dict[str, list[str]] = {
    "unknown names": [
        "m.nope = 1", "m.graphs = 1", "m._x = 1", "m.DESCRIPTOR = 1", "m.HasField = 1",
        "n.add(nope=1)", "new('NodeProto', nope=1)", "m.ClearField('nope')", "m.ClearField(5)",
        "m.ClearField('')", "m.HasField('nope')", "kind.WhichOneof('nope')", "m.nope",
        "kind.WhichOneof('tensor_type')", "n.nope", "n.nope = 1", "dims.nope()", "dims.add()",
        "kind.map_type.nope = 1",
    ],
    "assignment to composite fields": [
        "m.graph = g", "m.graph = None", "m.graph = 1", "g.node = []", "g.node = n",
        "g.node = [node]", "node.input = 'x'", "node.input = ['x']", "tensor.dims = [1]",
        "tensor.dims = dims", "kind.tensor_type = 1", "g.name = g", "n[0] = n[1]",
        "n[0:1] = [n[1]]", "n[:] = []", "n[0] = 1",
    ],
    "deletion of attributes": ["del m.graph", "del m.ir_version", "del g.node", "del m.nope"],
    "wrong types of numbers": [
        "m.ir_version = 'a'", "m.ir_version = 1.0", "m.ir_version = 1.5", "m.ir_version = True",
        "m.ir_version = None", "m.ir_version = [1]", "m.ir_version = node", "m.ir_version = b'1'",
        "m.ir_version = np.float32(5)", "m.ir_version = np.True_", "tensor.data_type = '1'",
        "tensor.data_type = 1.0", "tensor.data_type = False", "dims.append('a')",
        "dims.append(1.5)", "dims.append(2.0)", "dims.append(True)", "dims.append(None)",
        "dims[0] = 'a'", "dims[0] = 1.0", "dims[0] = None", "dims.insert(0, 'a')",
        "tensor.float_data.append('a')", "tensor.float_data.append(None)",
        "tensor.float_data.append(1j)", "tensor.double_data.append(b'1')",
        "node.attribute[0].f = 'a'", "node.attribute[0].f = None",
    ],
    "numbers out of range": [
        "m.ir_version = 2**63", "m.ir_version = -2**63 - 1", "m.ir_version = 2**200",
        "tensor.data_type = 2**31", "tensor.data_type = -2**31 - 1", "tensor.data_type = 2**80",
        "dims.append(2**63)", "dims[0] = 2**64", "tensor.uint64_data.append(-1)",
        "tensor.uint64_data.append(2**64)", "tensor.int32_data.append(2**31)",
        "tensor.float_data.append(10**400)", "tensor.double_data.append(10**400)",
        "node.attribute[0].f = 10**400", "m.opset_import.add(version=2**63)",
        "m.ir_version = np.uint64(2**63)",
    ],
    "enums": [
        "tensor.data_location = 5", "tensor.data_location = -1", "tensor.data_location = 2**40",
        "tensor.data_location = 'NOPE'", "tensor.data_location = ''", "tensor.data_location = 1.0",
        "tensor.data_location = True", "tensor.data_location = None",
        "tensor.data_location = b'EXTERNAL'", "node.attribute[0].type = 99",
        "node.attribute.add(type=99)", "node.attribute.add(type='NOPE')",
        "new('TensorProto', data_location='NOPE')",
    ],
    "texts": [
        "m.producer_name = 5", "m.producer_name = None", "m.producer_name = b'\\xff'",
        "m.producer_name = bytearray(b'a')", "m.producer_name = ['a']", "m.producer_name = node",
        "node.input.append(5)", "node.input.append(None)", "node.input.append(b'\\xff')",
        "node.input[0] = 5", "node.input.extend(b'ab')", "node.input.extend(['z', 1])",
        "node.input.insert(0, 1)",
    ],
    "bytes": [
        "tensor.raw_data = 'abc'", "tensor.raw_data = 'é'", "tensor.raw_data = bytearray(b'a')",
        "tensor.raw_data = memoryview(b'a')", "tensor.raw_data = None", "tensor.raw_data = 5",
        "tensor.raw_data = np.zeros(2)", "tensor.string_data.append('abc')",
        "tensor.string_data.append(None)", "tensor.string_data.extend([b'a', 'b'])",
    ],
    "indices": [
        "dims[9] = 1", "dims[-4] = 1", "dims['a'] = 1", "dims[1.0] = 1", "dims[None] = 1",
        "del dims[9]", "del dims[-4]", "del dims['a']", "del n[5]", "del n[-9]", "del n[b'a']",
        "n[5].name = 'x'", "n[1.0].name = 'x'", "dims.pop('a')",
        "dims.pop(1.0)", "n.pop(b'a')", "dims.insert('a', 1)", "n.insert('a', node)",
        "tensor.uint64_data.pop()", "m.functions.pop()", "m.functions[0].name = 'x'",
    ],
    "slices": [
        "dims[::2] = [7]", "dims[::2] = [7, 8, 9]", "dims[0:2] = 5", "dims[0:2] = None",
        "dims[0:2] = ['a', 'b']", "dims[0:2] = [1, 'b']", "dims[::-1] = [1]", "dims[::0] = []",
        "dims['a':] = []", "del dims[::0]",
    ],
    "extending": [
        "dims.extend(None)", "dims.extend(5)", "dims.extend([4, 'a'])", "dims.extend([4, 2**64])",
        "dims.extend([4, 1.5])", "n.extend(None)", "n.extend(5)", "n.MergeFrom(None)",
        "n.extend(dims)", "dims.MergeFrom(5)", "dims.extend()", "n.extend()",
    ],
    "operators that lists lack": ["dims *= 2", "tensor.dims += [1]", "g.node += [node]"],
    "messages of another type": [
        "n.append(tensor)", "n.append(1)", "n.append(None)", "n.append('x')", "n.append({})",
        "n.insert(0, tensor)", "n.insert(0, None)", "n.insert(0, 1)", "n.extend([tensor])",
        "n.extend([node, tensor])", "n.extend([node, 1])", "n.MergeFrom([tensor])",
        "node.CopyFrom(tensor)", "node.CopyFrom(None)", "node.CopyFrom(5)", "node.CopyFrom({})",
        "node.MergeFrom(tensor)", "node.MergeFrom(None)", "node.MergeFrom(b'')", "node.CopyFrom()",
        "kind.tensor_type.CopyFrom(kind)", "n.add(node)", "new('NodeProto', 5)",
        "new('ModelProto', graph=5)", "new('ModelProto', graph=node)", "n.add(attribute=[node])",
        "n.add(attribute=5)", "n.add(input=5)", "n.add(op_type=5)",
        "n.add(attribute=[{'name': 5}])", "new('ModelProto', graph={'name': 5})",
        "new('ModelProto', graph={'nope': 5})",
    ],
    "removing and sorting": [
        "dims.remove(9)", "dims.remove('a')", "n.remove(tensor)", "n.remove(1)",
        "n.remove(new('NodeProto', op_type='C'))", "dims.remove()", "n.sort()",
        "n.sort(key=lambda one: 1 / 0)", "dims.sort(key=lambda one: 1 / 0)", "dims.sort(5)",
        "n.sort(key=lambda one: one)", "dims.sort(nope=1)",
    ],
    "parsing": [
        "m.MergeFromString('abc')", "m.MergeFromString(None)", "m.MergeFromString(5)",
        "m.ParseFromString('abc')", "m.ParseFromString(None)", "m.MergeFromString(b'\\x08')",
        "m.ParseFromString(b'\\x08')", "m.MergeFromString(b'\\x08\\x07\\xff')",
        "m.MergeFromString(b'\\x3a\\x02\\x12')", "m.ParseFromString(b'\\x0f')",
        "node.MergeFromString(b'\\x0a\\x05a')", "m.MergeFromString()",
    ],
    "arguments": [
        "m.SetInParent(1)", "m.Clear(1)", "m.ClearField()", "m.ClearField('graph', 1)",
        "n.append()", "n.append(node, node)", "n.insert(0)", "n.reverse(1)", "n.pop(0, 1)",
        "n.clear(1)", "m.HasField()",
    ],
}  # fmt: skip

# What protobuf does only half, or what it does and no user can mean: onnxmap's own error.
OWN: dict[str, str] = {
    "dims.pop(9)": "IndexError",  # protobuf warns and takes the last one
    "dims.pop(-9)": "IndexError",
    "n.pop(7)": "IndexError",
    "dims[1:1] = [7, 'b']": "TypeError",
}


def wrong_edit_model() -> bytes:
    model = ModelProto(ir_version=10, producer_name="p")
    model.graph.name = "g"
    node = model.graph.node.add(op_type="A", name="gemm", input=["x", "y"])
    node.attribute.add(name="a", type=1, f=1.5)
    model.graph.node.add(op_type="B")
    model.graph.initializer.add(dims=[1, 2, 3], data_type=1, float_data=[1.0, 2.0], raw_data=b"ab")
    model.graph.initializer[0].data_location = 0
    model.graph.input.add(name="x").type.tensor_type.elem_type = 1
    model.opset_import.add(version=21)
    return model.SerializeToString()


def names_of(model: Any, new: Any) -> dict[str, Any]:
    """The names that the statements use."""
    import numpy as np

    graph = model.graph
    tensor = graph.initializer[0]
    return {
        "m": model, "g": graph, "n": graph.node, "node": graph.node[0], "tensor": tensor,
        "dims": tensor.dims, "kind": graph.input[0].type, "new": new, "np": np,
    }  # fmt: skip


def oracle_names() -> dict[str, Any]:
    model = message_class("ModelProto").FromString(wrong_edit_model())
    return names_of(model, lambda name, *given, **fields: message_class(name)(*given, **fields))
