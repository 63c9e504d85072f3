"""np.memmap, told beforehand where everything is: what mapping costs without finding anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  for bfloat16
import numpy as np

from bench import witness
from bench.tasks import Task, data_file, manifest

Places = list[tuple[str, np.dtype[Any], tuple[int, ...], int, int]]


def _places(folder: Path) -> Places:
    return [
        (
            line["name"],
            np.dtype(line["dtype"]),
            tuple(line["shape"]),
            line["data_offset"],
            line["data_offset"] + line["nbytes"],
        )
        for line in manifest(folder)
    ]


def _arrays(path: Path, places: Places) -> dict[str, np.ndarray[Any, Any]]:
    mapped = np.asarray(np.memmap(path, np.uint8, "r"))
    return {
        name: mapped[begin:end].view(dtype).reshape(shape)
        for name, dtype, shape, begin, end in places
    }


def views(folder: Path) -> Task:
    """Every initializer as an array."""
    path, places = data_file(folder), _places(folder)
    return Task(lambda: _arrays(path, places), witness.arrays)


def touch(folder: Path) -> Task:
    """The same, then every byte."""
    path, places = data_file(folder), _places(folder)
    return Task(
        lambda: witness.touched(_arrays(path, places).values()),
        lambda result, _: {"checksum": str(result)},
    )


def touch_only(folder: Path) -> Task:
    """Every byte of arrays that are there already."""
    arrays = _arrays(data_file(folder), _places(folder))
    return Task(
        lambda: witness.touched(arrays.values()), lambda result, _: {"checksum": str(result)}
    )
