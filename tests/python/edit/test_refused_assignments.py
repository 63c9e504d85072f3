"""What an error of a refused assignment says to do instead."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from support.models.sample import floats

import onnxmap
from onnxmap import DataType

CLEAR = r"; \.proto\.ClearField\('{}'\) removes the value$"
LIST = r"; put it into a list$"

# The statement, its error, and what the error says.
REFUSED = {
    # properties that are read-only
    "m.graph = g": r"Model\.graph is read-only; change its fields, or \.proto\.graph\.CopyFrom",
    "m.path = 'x'": r"Model\.path is read-only; save\(path\) writes the model there",
    "m.edited = False": r"Model\.edited is read-only; revert\(\) undoes all edits",
    "m.initializers = {}": r"read-only; assign to its items: initializers\[name\] = values",
    "m.state_variables = []": r"read-only; it follows from other fields",
    "g.initializers = {}": r"Graph\.initializers is read-only; assign to its items",
    "g.sparse_initializers = {}": r"read-only; assign to its items: sparse_initializers\[name\]",
    "g.required_inputs = []": r"Graph\.required_inputs is read-only; it follows from other fields",
    "g.producer = None": r"Graph\.producer is read-only",
    "n.proto = n": r"Node\.proto is read-only; change its fields, or \.proto\.CopyFrom\(message\)",
    "w.name = 'v'": r"Tensor\.name is read-only; initializers\.rename\(old, new\)",
    "w.shape = (3,)": r"Tensor\.shape is read-only; initializers\[name\] = values replaces",
    "w.segment = None": r"Tensor\.segment is read-only",
    "a.type = 1": r"Attribute\.type is read-only; assign \.value, which sets the type",
    # deletions
    "del n.name": r"Node\.name cannot be deleted; \.proto\.ClearField\(\) removes the value",
    "del n.proto": r"Node\.proto is read-only",
    "del m.producer_name": r"\.proto\.ClearField\('producer_name'\) removes the value",
    # None
    "m.producer_name = None": "expected a str, not None" + CLEAR.format("producer_name"),
    "m.ir_version = None": "expected an int, not None" + CLEAR.format("ir_version"),
    "n.name = None": "expected a str, not None" + CLEAR.format("name"),
    "n.inputs = None": r"input: expected an iterable, not None; \[\] removes all values",
    "g.nodes = None": r"node: expected an iterable, not None; \[\] removes all values",
    "m.opset_imports = None": r"mapping, such as {'': 21}, not None; {} removes all",
    "m.opset_imports[''] = None": r"the value of '' cannot be None; `del` removes an entry",
    "m.metadata_props['a'] = None": r"the value of 'a' cannot be None; `del` removes an entry",
    "n.attributes['k'] = None": r"the value of 'k' cannot be None; `del` removes an entry",
    # mappings
    "m.opset_imports = 21": r"opset_import: expected a mapping, such as {'': 21}, not int",
    "m.metadata_props = ['a']": r"expected a mapping, such as {'key': 'value'}, not list",
    "n.attributes = 5": r"attribute: expected a mapping, such as {'axis': 1}, not int",
    # lists
    "n.inputs = 'x'": "input: expected a list, not a single str" + LIST,
    "n.inputs += 'xy'": "input: expected a list, not a single str" + LIST,
    "n.inputs.extend('xy')": "input: expected a list, not a single str" + LIST,
    "g.nodes = n": "node: expected an iterable, not Node" + LIST,
    "g.nodes.extend(n)": "node: expected an iterable, not Node" + LIST,
    "n.inputs.append(x)": r"input: expected a str, not ValueInfo; pass its name, x\.name",
    "n.inputs = [x]": r"input: expected a str, not ValueInfo; pass its name, x\.name",
    # messages
    "g.nodes.append('Relu')": r"expected a NodeProto, not str; onnxmap\.make_node\(\) makes one",
    "g.nodes.append([n])": r"expected a NodeProto, not list; give one at a time",
    "g.inputs = ['x']": r"expected a ValueInfoProto, not str; onnxmap\.make_tensor_value_info\(\)",
    "m.functions[:] = [n]": r"a FunctionProto, not NodeProto; onnxmap\.make_function\(\) makes one",
    "m.training_info = [5]": r"not int; onnxmap\.new\('TrainingInfoProto'\) makes one",
    # types
    "x.type = 'float'": r"expected a TypeProto, not str; use a type of onnxmap\.types, or a pair",
    "x.type = DataType.FLOAT": r"not DataType; use a type of onnxmap\.types, or a pair such as",
    "x.type = (1, 2, 3)": r"not tuple; use a type of onnxmap\.types, or a pair such as",
    "x.dtype = 'no'": r"'no' is not a valid DataType.*; use a DataType, such as DataType\.FLOAT",
    "x.dtype = None": r"None is not a valid DataType.*; use a DataType, such as DataType\.FLOAT",
    "x.shape = 5": r"a shape is a sequence of dimensions, such as \(1, 'n'\), not int",
    "x.shape = [2**63]": r"value out of range: 9223372036854775808; the field holds -2\*\*63 to",
    # initializers
    "m.initializers[w] = 1": r"is a str, not Tensor\. Pass its name, x\.name",
    "del m.initializers['w']": r"used by .*: change what uses it first",
}


def names() -> dict[str, object]:
    node = helper.make_node("Relu", ["w"], ["y"], name="n", k=1)
    value = helper.make_tensor_value_info("x", 1, [1])
    graph = helper.make_graph([node], "g", [value], [], [floats("w", 1)])
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    found = model.graph.nodes[0]
    return {
        "m": model, "g": model.graph, "n": found, "a": found.attributes["k"], "np": np,
        "x": model.graph.inputs[0], "w": model.initializers["w"], "DataType": DataType,
    }  # fmt: skip


@pytest.mark.parametrize("statement", REFUSED)
def test_the_error_says_what_to_do(statement: str) -> None:
    known = names()
    with pytest.raises((AttributeError, TypeError, ValueError), match=REFUSED[statement]) as caught:
        exec(statement, known)  # noqa: S102 -- the statements are our own
    assert "core" not in str(caught.value)
    assert not known["m"].edited  # type: ignore[attr-defined]


def test_an_error_of_the_given_code_is_not_hidden() -> None:
    def broken() -> object:
        yield from ()
        raise AttributeError("mine")

    model = names()["m"]
    with pytest.raises(AttributeError, match=r"^mine$"):
        model.functions = broken()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^mine$"):
        model.graph.nodes = broken()  # type: ignore[attr-defined]
