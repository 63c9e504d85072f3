"""np.memmap, which is told where everything is: the cost of mapping alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  for bfloat16
import numpy as np

from bench import witness
from bench.tasks import Place, Task, data_file, places


def _arrays(path: Path, where: list[Place]) -> dict[str, np.ndarray[Any, Any]]:
    mapped = np.asarray(np.memmap(path, np.uint8, "r"))
    return {p.name: mapped[p.begin : p.end].view(p.dtype).reshape(p.shape) for p in where}


def views(folder: Path) -> Task:
    """Every initializer as an array."""
    path, where = data_file(folder), places(folder)
    return Task(lambda: _arrays(path, where), witness.arrays)


def touch(folder: Path) -> Task:
    """The same, then every byte."""
    path, where = data_file(folder), places(folder)
    return Task(
        lambda: witness.touched(_arrays(path, where).values()),
        lambda result, _: {"checksum": str(result)},
    )


def touch_only(folder: Path) -> Task:
    """Every byte of arrays that exist already."""
    arrays = _arrays(data_file(folder), places(folder))
    return Task(
        lambda: witness.touched(arrays.values()), lambda result, _: {"checksum": str(result)}
    )
