"""Initial states of LSTM, GRU and RNN, which have the batch: `set_dims(constants=True)`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.edits.rich_model import saved
from support.surgery.size_models import assert_same, loads, model_of, node, results, sizes

B, S, NEW_S = 4, 5, 7
HIDDEN = 8
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def states(op_type: str, form: str, b: int, layout: int = 0) -> ModelProto:
    """A recurrent layer whose states are constants."""
    gates = GATES[op_type] * HIDDEN
    state = [b, 1, HIDDEN] if layout else [1, b, HIDDEN]
    names = ["h", "c"] if op_type == "LSTM" else ["h"]
    constants: dict[str, Any] = {
        "w": np.linspace(-1, 1, gates * 6).reshape(1, gates, 6).astype("f"),
        "r": np.linspace(-1, 1, gates * HIDDEN).reshape(1, gates, HIDDEN).astype("f"),
    }
    nodes = []
    half = np.full(state, 0.5, np.float32)
    for name in names:
        match form:
            case "initializer":
                constants[name] = half
            case "Constant":
                nodes.append(
                    helper.make_node("Constant", [], [name], value=numpy_helper.from_array(half))
                )
            case "ConstantOfShape":
                constants["list"] = sizes(*state)
                nodes.append(node("ConstantOfShape", "list", name))
            case "Expand":
                constants |= {
                    "half": np.full((1, 1, HIDDEN), 0.5, np.float32),
                    "list": sizes(*state),
                }
                nodes.append(node("Expand", "half list", name))
            case "Concat":
                constants |= {
                    "half": np.full((1, 1, HIDDEN), 0.5, np.float32),
                    "of": sizes(1),
                    "batch": np.int64(b),
                    "hidden": sizes(HIDDEN),
                    "zero": sizes(0),
                }
                nodes += [
                    node("Unsqueeze", "batch zero", f"b{name}"),
                    node("Concat", f"of b{name} hidden", f"list{name}", axis=0),
                    node("Expand", f"half list{name}", name),
                ]
            case "Slice":
                layers = np.repeat(half, 2, 0) * np.float32([1, 2]).reshape(2, 1, 1)
                constants |= {"layers": layers, "zero": sizes(0), "one": sizes(1)}
                nodes.append(node("Slice", "layers zero one zero", name))
            case "Gather":
                layers = np.repeat(half, 2, 0) * np.float32([1, 2]).reshape(2, 1, 1)
                constants |= {"layers": layers, "one": np.int64(1), "zero": sizes(0)}
                nodes += [
                    node("Gather", "layers one", f"of{name}"),
                    node("Unsqueeze", f"of{name} zero", name),
                ]
    inputs = ["x", "w", "r", "", "", *names]
    attributes = {"layout": layout} if layout else {}
    nodes.append(helper.make_node(op_type, inputs, ["y"], hidden_size=HIDDEN, **attributes))
    infos = [helper.make_tensor_value_info(name, 1, state) for name in names]
    shape = [b, S, 6] if layout else [S, b, 6]
    return model_of(nodes, shape, constants, rank=4, value_info=infos)  # fmt: skip


FORMS = ["initializer", "Constant", "ConstantOfShape", "Expand", "Concat", "Slice", "Gather"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("b", [1, B])
def test_initial_states(op_type: str, form: str, b: int) -> None:
    count = 2 if op_type == "LSTM" else 1
    assert len(loads(states(op_type, form, b)).set_dims(inputs={"x": [S, 3, 6]}).constants) == count
    model = loads(states(op_type, form, b))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a state of another shape is what was asked for
        report = model.set_dims(inputs={"x": [S, 3, 6]}, constants=True)
    assert report.constants == []
    assert len(report.rewritten) == count
    assert set(report.value_infos) >= {"h"}
    ours, wanted = saved(model), states(op_type, form, 3)
    assert_same(ours, wanted, [S, 3, 6])
    onnx.checker.check_model(ours, full_check=True)


def test_states_with_the_batch_first() -> None:
    """onnxruntime runs no such layer; inference knows its shapes."""
    model = loads(states("GRU", "initializer", B, layout=1))
    report = model.set_dims(inputs={"x": [3, S, 6]}, constants=True)
    assert report.rewritten == ["graph.node[0].input[5]"]
    assert (
        saved(model).graph.initializer[2] == states("GRU", "initializer", 3, 1).graph.initializer[2]
    )


def test_states_that_differ_by_batch_stay() -> None:
    message = states("GRU", "initializer", B)
    values = np.arange(B * HIDDEN, dtype=np.float32).reshape(1, B, HIDDEN)
    message.graph.initializer[2].CopyFrom(numpy_helper.from_array(values, "h"))
    model = loads(message)
    report = model.set_dims(inputs={"x": [S, 3, 6]}, constants=True)
    assert report.constants == ["graph.node[0].input[5]"]
    assert report.rewritten == []


def test_lengths_of_sequences_have_a_batch() -> None:
    message = states("GRU", "initializer", B)
    message.graph.node[-1].input[4] = "lengths"
    message.graph.initializer.append(numpy_helper.from_array(np.full(B, S, np.int32), "lengths"))
    model = loads(message)
    report = model.set_dims(inputs={"x": [S, 3, 6]}, constants=True)
    assert report.rewritten == ["graph.node[0].input[4]", "graph.node[0].input[5]"]
    assert results(saved(model), np.ones((S, 3, 6), np.float32))[0].shape == (S, 1, 3, HIDDEN)


def test_lengths_of_sequences_are_listed() -> None:
    message = states("GRU", "initializer", B)
    message.graph.node[-1].input[4] = "lengths"
    message.graph.initializer.append(numpy_helper.from_array(np.full(B, S, np.int32), "lengths"))
    model = loads(message)
    report = model.set_dims(inputs={"x": [NEW_S, B, 6]}, constants=True)
    assert report == (["h"], ["graph.node[0].input[4]"], [])
