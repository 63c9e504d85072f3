"""Models whose initializers a save writes in another type, and what their values become."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxmap
from support.models.sample import model_of

onnxruntime = pytest.importorskip("onnxruntime")  # it may have no wheel for a new Python

TYPES: dict[str, Any] = {
    "float64": np.float64, "float32": np.float32, "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip


def cast(array: np.ndarray[Any, Any], name: str) -> tuple[np.ndarray[Any, Any], int]:
    """The values as Cast gives them (saturate=1), by ml_dtypes, and how many are lost.

    In an array of up to 1024 elements, a number that becomes 0 is lost, too.
    """
    dtype = np.dtype(TYPES[name])
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        made = (wide if array.dtype == np.float64 else array.astype(np.float32)).astype(dtype)
        back = made.astype(np.float64)
    lost = ~np.isfinite(back) & ~np.isnan(wide)
    vanished = int(((back == 0) & (wide != 0)).sum()) if array.size <= 1024 else 0
    if dtype.itemsize > 1:
        return made, int((lost & np.isfinite(wide)).sum()) + vanished
    most = np.copysign(float(ml_dtypes.finfo(dtype).max), wide).astype(dtype)
    made.view(np.uint8)[lost] = most.view(np.uint8)[lost]
    return made, int(lost.sum()) + vanished


def as_model(arrays: dict[str, Any], **fields: Any) -> onnx.ModelProto:
    """A model that has the arrays as its outputs, too."""
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    model = model_of(tensors, **fields)
    for each in tensors:
        made = helper.make_tensor_value_info(each.name, each.data_type, each.dims)
        model.graph.output.append(made)
    return model


def run(path: Path | onnx.ModelProto, feeds: dict[str, Any] | None = None) -> list[Any]:
    """The outputs of a model in onnxruntime."""
    data = path.read_bytes() if isinstance(path, Path) else path.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(path) if isinstance(path, Path) else data, options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, feeds or {}))


def mlp() -> tuple[list[Any], list[Any], list[Any], dict[str, Any]]:
    rng = np.random.default_rng(0)
    arrays = {"w1": rng.normal(size=(64, 128)), "b1": rng.normal(size=128),
              "w2": rng.normal(size=(128, 8)) / 16, "b2": rng.normal(size=8)}  # fmt: skip
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "w2", "b2"], ["y"]),
    ]  # fmt: skip
    return nodes, [1, 64], [1, 8], arrays


def built(make: Callable[[], Any], opset: int = 21) -> onnx.ModelProto:
    nodes, of_x, of_y, arrays = make()
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, of_x)],
        [helper.make_tensor_value_info("y", 1, of_y)],
        [numpy_helper.from_array(each.astype(np.float32), name) for name, each in arrays.items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def names_and_types(path: Path) -> dict[str, str]:
    return {name: str(each.dtype) for name, each in onnxmap.load(path).initializers.items()}
