"""A user's script that edits a model, for type checkers; see `lists_of_messages.py`."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSequence
from typing import assert_type

import numpy as np

import onnxmap
from onnxmap.types import TensorType


def edit_a_node(node: onnxmap.Node, graph: onnxmap.Graph) -> None:
    node.op_type = "Gelu"
    assert_type(node.inputs, onnxmap.ValueList[str])
    node.inputs[0] = "x"
    node.inputs[1:] = ("a", "b")
    node.inputs += ["y"]
    node.outputs = ("z",)
    assert_type(node.inputs + node.outputs, list[str])
    assert_type(node.inputs[1:], list[str])
    assert_type(node.inputs.pop(), str)
    node.attributes["axis"] = 1
    node.attributes["body"] = graph
    node.attributes = {"alpha": 0.5, "weights": np.zeros(3)}
    assert_type(node.attributes["axis"], onnxmap.Attribute)
    node.attributes["axis"].value = [1, 2]
    node.metadata_props["k"] = "v"
    assert_type(any_mapping(node.metadata_props), str)
    node.metadata_props = {"k": "v"}


def edit_a_list(graph: onnxmap.Graph) -> None:
    made = onnxmap.make_node("Relu", ["x"], ["y"], alpha=0.5)
    assert_type(made, onnxmap.ProtoView)
    graph.nodes.append(made)
    graph.nodes.insert(0, graph.nodes[1])
    graph.nodes.extend([made, *graph.nodes[2:]])
    graph.nodes += [made]
    graph.nodes[0] = made
    graph.nodes[1:3] = [made]
    graph.nodes = [node for node in graph.nodes if node.op_type != "Identity"]
    graph.nodes.sort(key=lambda node: node.name, reverse=True)
    assert_type(graph.nodes.pop(), onnxmap.Node)
    assert_type(graph.nodes.add(op_type="Relu"), onnxmap.Node)
    del graph.nodes[0], graph.nodes[:2]
    graph.inputs.append(onnxmap.make_value_info("ids", ("int64", ["n"])))
    graph.inputs[0].type = TensorType(onnxmap.DataType.FLOAT, (1, "n", None))


def any_list(names: MutableSequence[str], nodes: MutableSequence[onnxmap.Node]) -> int:
    return len(names) + len(nodes)


def any_mapping(mapping: MutableMapping[str, str]) -> str:
    return mapping.pop("k")


def edit_a_model(model: onnxmap.Model) -> None:
    model.initializers["w"] = np.zeros((2, 3), np.float16)
    model.initializers["b"] = model.initializers["w"]
    del model.initializers["b"]
    model.initializers.rename("w", "weight")
    model.initializers.rename({"w": "weight", "b": "bias"})
    model.metadata_props["license"] = "MIT"
    model.metadata_props |= {"a": "b"}
    model.opset_imports[""] = 21
    model.opset_imports = {"": 21}
    model.doc_string, model.ir_version = "", 10
    model.opset_imports |= {"": 21}
    model.functions = list(model.functions)
    for info in model.training_info:
        info.algorithm = None
    node = model.graph.nodes[0]
    assert_type(any_list(node.inputs, model.graph.nodes), int)
    assert_type(model.edited, bool)
    model.revert()


def edit_by_protobuf_s_interface(view: onnxmap.ProtoView) -> bytes:
    view.name = "n"
    view.node.add(op_type="Relu")
    view.CopyFrom(onnxmap.new("GraphProto", name="g"))
    view.ClearField("name")
    return view.SerializeToString()
