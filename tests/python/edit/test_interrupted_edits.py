"""Ctrl-C in the middle of an edit leaves the model as it was, or as it was to become.

An interrupt is raised at each bytecode of our Python code that an edit runs, one after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.run_options import EXHAUSTIVE, LONG

import onnxmap
from onnxmap.types import SequenceType, TensorType

STEP = 1 if EXHAUSTIVE or LONG else 7  # between the bytecodes that are interrupted
PACKAGE = str(Path(onnxmap.__file__).parent)


def model() -> onnxmap.Model:
    inner = helper.make_graph([], "inner", [], [])
    node = helper.make_node("Add", ["w", "v"], ["y"], name="n", axis=1, g=inner, ints=[1, 2])
    weights = [
        numpy_helper.from_array(np.full(1500, i, np.float32), name) for i, name in enumerate("wv")
    ]
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["y"], ["z"], name="m")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "n"])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
        weights,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    helper.set_model_props(made, {"a": "1", "b": "2"})
    return onnxmap.loads(made.SerializeToString())


def node_of(m: onnxmap.Model) -> Any:
    return m.graph.nodes["n"]


EDITS: dict[str, Callable[[onnxmap.Model], object]] = {
    "initializer": lambda m: m.initializers.__setitem__("w", np.arange(3)),
    "large initializer": lambda m: m.initializers.__setitem__("w", np.zeros((40, 50))),
    "initializer of texts": lambda m: m.initializers.__setitem__("w", ["a", "b"]),
    "initializer from a tensor": lambda m: m.initializers.__setitem__("w", m.initializers["v"]),
    "new initializer": lambda m: m.initializers.__setitem__("u", np.arange(3)),
    "attribute": lambda m: node_of(m).attributes.__setitem__("axis", 2.5),
    "attribute of a tensor": lambda m: node_of(m).attributes.__setitem__("axis", np.zeros((2, 3))),
    "new attribute": lambda m: node_of(m).attributes.__setitem__("new", [1, 2]),
    "deleted attribute": lambda m: node_of(m).attributes.__delitem__("axis"),
    "value": lambda m: setattr(node_of(m).attributes["axis"], "value", "text"),
    "value of a list": lambda m: setattr(node_of(m).attributes["ints"], "value", [3.5]),
    "type": lambda m: setattr(m.graph.inputs[0], "type", TensorType(onnxmap.DataType.INT8, (3,))),
    "type of a sequence": lambda m: setattr(
        m.graph.inputs[0], "type", SequenceType(TensorType(onnxmap.DataType.INT8, None))
    ),
    "no type": lambda m: setattr(m.graph.inputs[0], "type", None),
    "shape": lambda m: setattr(m.graph.inputs[0], "shape", ("a", 2, None)),
    "no shape": lambda m: setattr(m.graph.inputs[0], "shape", None),
    "dtype": lambda m: setattr(m.graph.inputs[0], "dtype", "int64"),
    "metadata": lambda m: m.metadata_props.__setitem__("a", "3"),
    "new metadata": lambda m: m.metadata_props.__setitem__("c", "3"),
    "all metadata": lambda m: setattr(m, "metadata_props", {"d": "1", "e": "2"}),
    "no metadata": lambda m: m.metadata_props.clear(),
    "opset": lambda m: m.opset_imports.__setitem__("", 21),
    "all opsets": lambda m: setattr(m, "opset_imports", {"": 22, "x": 1}),
    "all attributes": lambda m: setattr(node_of(m), "attributes", {"k": 1, "l": [1.5]}),
    "inputs": lambda m: setattr(node_of(m), "inputs", ["w"]),
    "nodes": lambda m: setattr(m.graph, "nodes", list(m.graph.nodes)[::-1]),
    "a slice": lambda m: m.graph.nodes.__setitem__(slice(0, 2), [m.graph.nodes["m"]]),
    "a node": lambda m: m.graph.nodes.__setitem__(0, m.graph.nodes["m"]),
    "extend": lambda m: m.graph.nodes.extend(list(m.graph.nodes)),
    "renamed tensor": lambda m: m.initializers.rename("w", "renamed"),
    "subgraph": lambda m: setattr(node_of(m).attributes["g"].value, "name", "renamed"),
}


class InterruptAt:
    """Raises KeyboardInterrupt before the n-th bytecode of the package that runs."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __enter__(self) -> InterruptAt:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.trace


@pytest.mark.parametrize("name", EDITS)
def test_an_interrupted_edit(name: str) -> None:
    edit = EDITS[name]
    before = onnxmap.dumps(model())
    whole = model()
    edit(whole)
    after = onnxmap.dumps(whole)
    number = 0
    for number in count(0, STEP):
        changed = model()
        changed.graph  # noqa: B018 -- what is made at the first use is no part of the edit
        try:
            with InterruptAt(number):
                edit(changed)
        except KeyboardInterrupt:
            found = onnxmap.dumps(changed)
            assert found in (before, after), f"interrupted at bytecode {number}"
        else:
            break
    assert number > 0 or name == "subgraph"  # which is one call of the core
