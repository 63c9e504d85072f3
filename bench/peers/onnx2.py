"""onnx-extended's onnx2: a C++ reader that can leave the weights out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from onnx_extended import onnx2

from bench import witness
from bench.tasks import Task, model_file

DTYPES = {1: np.float32, 7: np.int64, 10: np.float16, 16: ml_dtypes.bfloat16}


def load(folder: Path) -> Task:
    """The structure, without the weights: what this peer is fastest at."""
    path = model_file(folder)
    return Task(lambda: onnx2.load(path, skip_raw_data=True), _outline)


def views(folder: Path) -> Task:
    """The whole model, then every initializer as an array."""
    path = model_file(folder)

    def run() -> object:
        model = onnx2.load(path)  # a name of its own: its tensors do not keep it alive
        return {
            tensor.name: np.frombuffer(tensor.raw_data, DTYPES[int(tensor.data_type)]).reshape(
                tuple(tensor.dims)
            )
            for tensor in model.graph.initializer
        }

    return Task(run, witness.arrays)


def _outline(model: Any, _full: bool) -> dict[str, str]:
    graph = model.graph
    return witness.outline([tensor.name for tensor in graph.initializer], len(graph.node))
