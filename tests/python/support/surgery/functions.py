"""Models that call functions, and what `inline_functions` makes of them."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import FunctionProto, ModelProto, NodeProto, helper

import onnxmap
from support.surgery.models import floats, loads

D = "test"  # the domain of the functions
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid(D, 1)]


def call(op_type: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=D, **attributes)


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[NodeProto], **others: Any
) -> FunctionProto:
    opsets = others.pop("opsets", OPSETS)
    return helper.make_function(D, name, inputs, outputs, nodes, opsets, **others)


def model_of(
    nodes: list[NodeProto], functions: list[FunctionProto], outputs: tuple[str, ...] = ("y",)
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", floats("x"), floats(*outputs))
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10, functions=functions)


def inlined(message: ModelProto, names: list[str] | None = None) -> ModelProto:
    model = loads(message)
    model.inline_functions(names)
    found = ModelProto.FromString(onnxmap.dumps(model))
    model.revert()
    assert onnxmap.dumps(model) == message.SerializeToString()
    return found


def refused(message: ModelProto, error: type[Exception], text: str) -> None:
    model = loads(message)
    with pytest.raises(error, match=text):
        model.inline_functions()
    assert onnxmap.dumps(model) == message.SerializeToString()
