"""The `onnx` package: protobuf's C engine, then NumPy arrays by `numpy_helper`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from bench import witness
from bench.tasks import Task, model_file, tensor_file, touched_array


def load(folder: Path) -> Task:
    """The whole message, weights included."""
    path = model_file(folder)
    return Task(lambda: onnx.load(path), _outline)


def names_shapes(folder: Path) -> Task:
    """The whole message, then the initializers' names and shapes."""
    path = model_file(folder)

    def run() -> object:
        tensors = onnx.load(path).graph.initializer
        return [tensor.name for tensor in tensors], [tuple(tensor.dims) for tensor in tensors]

    return Task(run, lambda result, _: {"names_shapes": witness.digest(result)})


def views(folder: Path) -> Task:
    """The whole message, then every initializer as an array."""
    path = model_file(folder)

    return Task(lambda: _arrays(path), witness.arrays)


def touch_and_hold(folder: Path) -> Task:
    """The same, then every byte."""
    path = model_file(folder)
    return Task(lambda: witness.touched_and_held(_arrays(path)), witness.held)


def touch_each(folder: Path) -> Task:
    """Every byte, tensor by tensor: external data are read for one at a time, and dropped."""
    path = model_file(folder)

    def run() -> int:
        model = onnx.load(path, load_external_data=False)
        return witness.touched(_each(model.graph.initializer, str(folder)))

    return Task(run, lambda result, _: {"checksum": str(result)})


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: [node.op_type for node in graph.node],
        lambda result, _: {"op_types": witness.digest(result)},
    )


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: [list(node.input) for node in graph.node],
        lambda result, _: {"node_inputs": witness.digest(result)},
    )


def walk(folder: Path) -> Task:
    """A Python loop over a loaded model's nodes."""
    graph = onnx.load(model_file(folder)).graph
    return Task(
        lambda: witness.walked(graph.node, "input"), lambda result, _: {"walk": str(result)}
    )


def decode(folder: Path) -> Task:
    """An array of a tensor that is loaded already."""
    tensor = onnx.load_tensor(tensor_file(folder))
    return Task(lambda: numpy_helper.to_array(tensor), witness.array)


def file_to_array(folder: Path) -> Task:
    """A tensor's file, parsed, and its array."""
    path = tensor_file(folder)
    return Task(lambda: numpy_helper.to_array(onnx.load_tensor(path)), witness.array)


def to_float32(folder: Path) -> Task:
    """NumPy's or ml_dtypes' conversion of an array that is there already."""
    return _convert(folder, "float32")


def to_float16(folder: Path) -> Task:
    """The same to float16."""
    return _convert(folder, "float16")


def to_bfloat16(folder: Path) -> Task:
    """The same to bfloat16."""
    return _convert(folder, "bfloat16")


def _convert(folder: Path, dtype: str) -> Task:
    """The source is in aligned memory and unpacked, both more than a file gives."""
    source = numpy_helper.to_array(onnx.load_tensor(tensor_file(folder)))
    out = touched_array(source.shape, dtype)

    def run() -> object:
        np.copyto(out, source, casting="unsafe")
        return out

    return Task(run, witness.array)


def _arrays(path: str) -> dict[str, np.ndarray[Any, Any]]:
    tensors = onnx.load(path).graph.initializer
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


def _each(tensors: Iterable[onnx.TensorProto], folder: str) -> Iterator[np.ndarray[Any, Any]]:
    for tensor in tensors:
        if uses_external_data(tensor):
            load_external_data_for_tensor(tensor, folder)
        yield numpy_helper.to_array(tensor)
        tensor.ClearField("raw_data")


def _outline(model: onnx.ModelProto, _full: bool) -> dict[str, str]:
    graph = model.graph
    return witness.outline([tensor.name for tensor in graph.initializer], len(graph.node))
