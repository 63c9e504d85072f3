"""onnx-ir: objects over protobuf; external data mapped a tensor at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir

from bench import witness
from bench.tasks import Task, model_file, tensor_file


def _arrays(model: onnx_ir.Model) -> dict[str, np.ndarray[Any, Any]]:
    return {
        name: value.const_value.numpy()
        for name, value in model.graph.initializers.items()
        if value.const_value is not None
    }


def load(folder: Path) -> Task:
    """The whole model as objects."""
    path = model_file(folder)
    return Task(lambda: onnx_ir.load(path), _outline)


def views(folder: Path) -> Task:
    """The whole model, then every initializer as an array."""
    path = model_file(folder)
    return Task(lambda: _arrays(onnx_ir.load(path)), witness.arrays)


def touch(folder: Path) -> Task:
    """The same, then every byte."""
    path = model_file(folder)

    def run() -> int:
        return witness.touched(_arrays(onnx_ir.load(path)).values())

    return Task(run, lambda result, _: {"checksum": str(result)})


def touch_only(folder: Path) -> Task:
    """Every byte of arrays that are there already."""
    arrays = _arrays(onnx_ir.load(model_file(folder)))
    return Task(
        lambda: witness.touched(arrays.values()), lambda result, _: {"checksum": str(result)}
    )


def touch_and_hold(folder: Path) -> Task:
    """As `touch`, and the arrays stay."""
    path = model_file(folder)
    return Task(lambda: witness.touched_and_held(_arrays(onnx_ir.load(path))), witness.held)


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnx_ir.load(model_file(folder)).graph
    return Task(
        lambda: [node.op_type for node in graph],
        lambda result, _: {"op_types": witness.digest(result)},
    )


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnx_ir.load(model_file(folder)).graph
    return Task(
        lambda: [[value.name if value else "" for value in node.inputs] for node in graph],
        lambda result, _: {"node_inputs": witness.digest(result)},
    )


def decode(folder: Path) -> Task:
    """An array of a tensor that is loaded already."""
    tensor = onnx_ir.serde.deserialize_tensor(onnx.load_tensor(tensor_file(folder)))
    return Task(tensor.numpy, witness.array)


def file_to_array(folder: Path) -> Task:
    """A tensor's file, parsed by onnx since this peer has no reader of its own, and its array."""
    path = tensor_file(folder)
    return Task(
        lambda: onnx_ir.serde.deserialize_tensor(onnx.load_tensor(path)).numpy(), witness.array
    )


def _outline(model: onnx_ir.Model, _full: bool) -> dict[str, str]:
    return witness.outline(model.graph.initializers, len(model.graph))
