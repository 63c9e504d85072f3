"""The verbs of graph surgery, each on a model that was just loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxmap
import onnxmap.types  # imported at first use
from bench.tasks import NEW_NAME, Task, model_file, renamed_value, surgery_ends


def _verb(folder: Path, run: Callable[[onnxmap.Model], Any]) -> Task:
    model = onnxmap.load(model_file(folder))

    def load() -> None:
        nonlocal model
        model = onnxmap.load(model_file(folder))

    def witness(result: Any, _full: bool) -> dict[str, str]:
        made = result if isinstance(result, onnxmap.Model) else model
        return {"nodes": str(len(made.graph.nodes))}

    return Task(lambda: run(model), witness, just_before=load)


def load(folder: Path) -> Task:
    """The file of the verbs, loaded: what they are measured by."""
    path = model_file(folder)
    return Task(lambda: onnxmap.load(path))


def prune(folder: Path) -> Task:
    """What no output needs is removed."""
    return _verb(folder, lambda model: model.prune())


def sort(folder: Path) -> Task:
    """Nodes are put in a topological order."""
    return _verb(folder, lambda model: model.sort())


def set_dims(folder: Path) -> Task:
    """The input and the output get another shape."""
    return _verb(folder, lambda model: model.set_dims(inputs={"x": [8]}))


def rename(folder: Path) -> Task:
    """One inner value gets another name."""
    return _verb(folder, lambda model: model.graph.rename(renamed_value(model.graph), NEW_NAME))


def extract(folder: Path) -> Task:
    """All that makes half of the outputs."""
    return _verb(folder, lambda model: model.extract(*surgery_ends(model.graph)))


def merge(folder: Path) -> Task:
    """The model, with itself behind."""
    return _verb(folder, lambda model: onnxmap.merge(model, model, {}, prefix="second."))
