"""onnxruntime runs saved models, and gives the same outputs as for their sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.save_models import SAVE_MODELS

import onnxmap

onnxruntime = pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
OPTIONS: dict[str, dict[str, Any]] = {
    "inline": {"external_data": False},
    "outside": {"external_data": "sub/w.data", "size_threshold_bytes": 0, "attributes": True},
    "shards": {"external_data": "part.data", "max_shard_size_bytes": 2000, "checksum": True},
    "dedupe": {"external_data": "once.data", "dedupe": True, "alignment": 64},
    "view": {"external_data": "view"},
    "aligned": {"alignment": 4096, "external_data": False},
}
INPUTS: dict[str, dict[str, Any]] = {
    "chain": {"x": np.ones((2, 16), np.float32)},
    "chain_outside": {"x": np.ones((2, 20), np.float32)},
    "shared": {"x": np.ones((2, 20), np.float32)},
    "nested": {"x": np.ones((16, 16), np.float32), "cond": np.array(True)},
}


def outputs(path: Path, name: str) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, INPUTS[name])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", INPUTS)
def test_same_outputs(name: str, options: str, tmp_path: Path) -> None:
    source, saved = SAVE_MODELS[name](tmp_path), tmp_path / "saved.onnx"
    onnxmap.save(onnxmap.load(source), saved, sync=False, **OPTIONS[options])
    for ours, theirs in zip(outputs(saved, name), outputs(source, name), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_an_edit_changes_the_outputs(tmp_path: Path) -> None:
    path = SAVE_MODELS["chain_outside"](tmp_path)
    model = onnxmap.load(path)
    before = outputs(path, "chain_outside")[0]
    model.initializers["w2"] = model.initializers["w2"].numpy() * 2
    model.save(path, sync=False)
    np.testing.assert_allclose(outputs(path, "chain_outside")[0], before * 2, rtol=1e-5)
    onnxmap.append(path, metadata_props={"license": "MIT"})
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map == {"license": "MIT"}


# Of each operator: its other inputs by name. onnxruntime reads them while it infers shapes.
SHAPE_INPUTS: dict[str, dict[str, np.ndarray[Any, Any]]] = {
    "Reshape": {"shape": np.array([3, 4])},
    "Slice": {"starts": np.array([0]), "ends": np.array([1])},
    "Expand": {"shape": np.array([3, 2, 6])},
    "Unsqueeze": {"axes": np.array([0])},
    "Pad": {"pads": np.array([0, 0, 1, 1])},
    "Tile": {"repeats": np.array([2, 1])},
}


@pytest.mark.parametrize("place", ["initializers", "Constant nodes"])
@pytest.mark.parametrize("op_type", SHAPE_INPUTS)
def test_what_must_stay_in_the_model(op_type: str, place: str, tmp_path: Path) -> None:
    """As the guide says. By default these constants stay, and with a threshold of 0 they move."""
    arrays = SHAPE_INPUTS[op_type]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    nodes = [helper.make_node(op_type, ["x", *arrays], ["y"])]
    if place == "Constant nodes":
        constants = [helper.make_node("Constant", [], [one.name], value=one) for one in tensors]
        nodes, tensors = constants + nodes, []
    x = helper.make_tensor_value_info("x", 1, [2, 6])
    y = helper.make_tensor_value_info("y", 1, None)
    graph = helper.make_graph(nodes, "shapes", [x], [y], tensors)
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "saved.onnx"
    given = {"x": np.arange(12, dtype=np.float32).reshape(2, 6)}

    def output() -> np.ndarray[Any, Any]:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return session.run(None, given)[0]

    onnxmap.save(source, path, external_data="w.data", attributes=True, sync=False)
    np.testing.assert_array_equal(output(), ReferenceEvaluator(source).run(None, given)[0])
    onnxmap.save(source, path, "w.data", size_threshold_bytes=0, attributes=True, sync=False)
    with pytest.raises(Exception, match="Cannot parse data from external tensors"):
        output()
