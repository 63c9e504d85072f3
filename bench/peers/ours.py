"""onnxmap itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  imported lazily by onnxmap, eagerly by every peer

import onnxmap
from bench import witness
from bench.tasks import Task, model_file


def load(folder: Path) -> Task:
    """The structure."""
    path = model_file(folder)
    return Task(lambda: onnxmap.load(path), _outline)


def names_shapes(folder: Path) -> Task:
    """The structure, then the initializers' names and shapes."""
    path = model_file(folder)

    def run() -> object:
        initializers = onnxmap.load(path).initializers
        return initializers.names(), initializers.shapes()

    return Task(run, lambda result, _: {"names_shapes": witness.digest(result)})


def views(folder: Path) -> Task:
    """The structure, then every initializer as an array."""
    path = model_file(folder)
    return Task(lambda: onnxmap.load(path).views(), witness.arrays)


def touch(folder: Path) -> Task:
    """The same, then every byte."""
    path = model_file(folder)
    return Task(lambda: witness.touched(onnxmap.load(path).views().values()), _checksum)


def touch_only(folder: Path) -> Task:
    """Every byte of arrays that are there already."""
    arrays = onnxmap.load(model_file(folder)).views()
    return Task(lambda: witness.touched(arrays.values()), _checksum)


def op_types(folder: Path) -> Task:
    """The operators of a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(graph.op_types, lambda result, _: {"op_types": witness.digest(result)})


def node_inputs(folder: Path) -> Task:
    """The input names of a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(graph.node_inputs, lambda result, _: {"node_inputs": witness.digest(result)})


def walk(folder: Path) -> Task:
    """A Python loop over a loaded model's nodes."""
    graph = onnxmap.load(model_file(folder)).graph
    return Task(
        lambda: witness.walked(graph.nodes, "inputs"), lambda result, _: {"walk": str(result)}
    )


def _outline(model: Any, _full: bool) -> dict[str, str]:
    return witness.outline(model.initializers.names(), len(model.graph.nodes))


def _checksum(result: int, _full: bool) -> dict[str, str]:
    return {"checksum": str(result)}
