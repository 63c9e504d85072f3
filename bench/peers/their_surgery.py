"""The same work by onnx and onnx_ir, or by a loop over protobuf's nodes where neither has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx.compose
import onnx_ir
from onnx.utils import Extractor
from onnx_ir.passes.common import RemoveUnusedNodesPass, TopologicalSortPass

from bench.tasks import NEW_NAME, Task, model_file, renamed_value, surgery_ends


def _of_ir(folder: Path, run: Callable[[Any], Any]) -> Task:
    model = onnx_ir.load(model_file(folder))
    return Task(lambda: run(model), lambda _result, _: {"nodes": str(len(model.graph))})


def _of_protobuf(folder: Path, run: Callable[[onnx.ModelProto], Any]) -> Task:
    model = onnx.load(model_file(folder))

    def witness(result: Any, _full: bool) -> dict[str, str]:
        made = result if isinstance(result, onnx.ModelProto) else model
        return {"nodes": str(len(made.graph.node))}

    return Task(lambda: run(model), witness)


def prune(folder: Path) -> Task:
    """By onnx_ir's pass."""
    return _of_ir(folder, lambda model: RemoveUnusedNodesPass()(model))


def sort(folder: Path) -> Task:
    """By onnx_ir's pass."""
    return _of_ir(folder, lambda model: TopologicalSortPass()(model))


def set_dims(folder: Path) -> Task:
    """By a loop: onnx's function changes no number."""

    def run(model: onnx.ModelProto) -> None:
        graph = model.graph
        for value in (*graph.input, *graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = 8
        stale = {name for node in graph.node for name in node.output}
        for i in reversed(range(len(graph.value_info))):
            if graph.value_info[i].name in stale:
                del graph.value_info[i]

    return _of_protobuf(folder, run)


def rename(folder: Path) -> Task:
    """By a loop."""

    def run(model: onnx.ModelProto) -> None:
        old = renamed_value(model.graph)
        for node in model.graph.node:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if name == old:
                        names[i] = NEW_NAME

    return _of_protobuf(folder, run)


def extract(folder: Path) -> Task:
    """By onnx, which copies the weights."""
    return _of_protobuf(
        folder, lambda model: Extractor(model).extract_model(*surgery_ends(model.graph))
    )


def merge(folder: Path) -> Task:
    """By onnx, which copies the weights several times."""
    return _of_protobuf(
        folder,
        lambda model: onnx.compose.merge_models(model, model, io_map=[], prefix2="second."),
    )
