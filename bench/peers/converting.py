"""onnx together with safetensors or NumPy: how weights are moved between them without onnxmap."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes  # noqa: F401  for bfloat16
import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import load_file, save_file

from bench import written
from bench.peers.usual import Arrays
from bench.tasks import Task, data_file, model_file, writing


def _weights(folder: Path) -> Arrays:
    model = onnx.load(model_file(folder))
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def to_safetensors(folder: Path) -> Task:
    """The weights of a model that onnx loads, as a safetensors file."""
    return writing(
        folder,
        lambda path: save_file(dict(_weights(folder)), path.with_suffix(".safetensors")),
        lambda path, full: written.weights(path.with_suffix(".safetensors"), full),
    )


def to_npz(folder: Path) -> Task:
    """The same as an archive of NumPy."""
    return writing(
        folder,
        lambda path: np.savez(path.with_suffix(".npz"), **_weights(folder)),
        lambda path, full: written.weights(path.with_suffix(".npz"), full),
    )


def from_safetensors(folder: Path) -> Task:
    """The weights in a safetensors file as a model in one file, made by onnx."""

    def write(path: Path) -> None:
        arrays = load_file(data_file(folder))
        tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        onnx.save(helper.make_model(helper.make_graph([], "weights", [], [], tensors)), path)

    return writing(folder, write, written.arrays)
