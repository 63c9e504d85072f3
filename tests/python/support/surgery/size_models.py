"""Models that take sizes from constants, and what onnxruntime computes with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper

import onnxmap

ort = pytest.importorskip("onnxruntime")


def results(message: ModelProto, x: Any) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(message.SerializeToString(), options)
    found: list[Any] = session.run(None, {"x": x})
    return found


def loads(message: ModelProto) -> onnxmap.Model:
    return onnxmap.loads(message.SerializeToString())


def assert_same(ours: ModelProto, wanted: ModelProto, shape: list[int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    pairs = zip(results(ours, x), results(wanted, x), strict=True)
    assert all(np.array_equal(a, b) and a.shape == b.shape for a, b in pairs)


def model_of(
    nodes: list[NodeProto], shape: list[Any], constants: dict[str, Any], **parts: Any
) -> ModelProto:
    """A model that makes y from x."""
    tensors = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    rank = parts.pop("rank", len(shape))
    opset, ir_version = parts.pop("opset", 17), parts.pop("ir_version", 8)
    functions = parts.pop("functions", [])
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, shape)],
        [helper.make_tensor_value_info("y", 1, [None] * rank)], tensors, **parts,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("f", 1)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=ir_version, functions=functions
    )


def node(op_type: str, inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, inputs.split(" "), [output], **attributes)


def sizes(*numbers: int, dtype: type = np.int64) -> Any:
    return np.array(numbers, dtype)
