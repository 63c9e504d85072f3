"""Small models for the tests of the commands, with names that are hard to print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EVIL_NAME = "evil\x1b[31m\x07\u202egnp\n\x00end"
EVIL_SHOWN = r"evil\x1b[31m\x07\u202egnp\n\x00end"
LONG_NAME = "encoder." + "deeply.nested." * 20 + "weight"


def tensor(name: str, array: np.ndarray[Any, Any]) -> TensorProto:
    return numpy_helper.from_array(array, name)


def save(path: Path, *initializers: TensorProto, **fields: Any) -> onnx.ModelProto:
    """A small model that has something for every line that `show` prints."""
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["y"], name="second"),
        helper.make_node("Constant", [], ["c"], value=tensor("inner", np.arange(40.0))),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, None])],
        [helper.make_tensor_sequence_value_info("y", TensorProto.INT64, None)],
        initializer=initializers,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 3)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="maker", **fields)
    helper.set_model_props(model, {"author": "somebody"})
    onnx.save(model, path)
    return model


def save_hidden(path: Path) -> None:
    """A model without initializers: its weights are in nodes, subgraphs and a function."""

    def constant(name: str) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [name], value=tensor("", np.ones(1, np.float32)))

    def branch(name: str) -> onnx.GraphProto:
        inside = [constant(f"{name}_{i}") for i in range(2)]
        return helper.make_graph(inside, name, [], [helper.make_empty_tensor_value_info(name)])

    nodes = [
        helper.make_node(
            "If", ["x"], ["y"], then_branch=branch("then"), else_branch=branch("else")
        ),
        constant("c"),
    ]
    sparse = helper.make_sparse_tensor(
        tensor("sparse", np.float32([1, 2])), tensor("", np.int64([0, 5])), [10]
    )
    graph = helper.make_graph(nodes, "hidden", [], [], sparse_initializer=[sparse])
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("d", "F", ["a"], ["b"], [constant("k")], opsets)
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=opsets), path)
