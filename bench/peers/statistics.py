"""Statistics by NumPy and ml_dtypes: over the views that onnxmap gives of the mapped file.

The work is done as an experienced user would do it. Each tensor is read in blocks, without large
temporary arrays, and the results of the blocks are joined. The simple way, whole arrays in float64,
is the task `stats_whole`; it is slower.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  for bfloat16
import numpy as np

from bench import witness
from bench.tasks import Task, model_file

BLOCK_ELEMENTS = 1 << 19  # the fastest of 2**13 to 2**20
DOT_ELEMENTS = 8192  # for longer arrays, OpenBLAS starts threads, and takes longer


class Found(NamedTuple):
    """The statistics of some values: `squares` is the sum of the squared distances from `mean`."""

    count: int = 0
    finite: int = 0
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    least: float = math.inf
    most: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0

    def joined(self, other: Found) -> Found:
        """Return the statistics of both. Source: Chan, Golub and LeVeque, 1979."""
        finite = self.finite + other.finite
        distance = other.mean - self.mean
        share = other.finite / finite if finite else 0.0
        return Found(
            self.count + other.count,
            finite,
            self.zeros + other.zeros,
            self.nans + other.nans,
            self.infinities + other.infinities,
            min(self.least, other.least),
            max(self.most, other.most),
            self.mean + distance * share,
            self.squares + other.squares + distance * distance * self.finite * share,
        )


def of_block(block: np.ndarray[Any, Any]) -> Found:
    """Return the statistics of one block."""
    values = block.astype(np.float64)
    count, zeros = values.size, values.size - int(np.count_nonzero(values))
    finite = np.isfinite(values)
    kept = int(np.count_nonzero(finite))
    nans = infinities = 0
    if kept < count:
        nans = int(np.count_nonzero(np.isnan(values)))
        infinities = count - kept - nans
        values = values[finite]
    if kept == 0:
        return Found(count, 0, 0, nans, infinities)
    least, most, mean = float(values.min()), float(values.max()), float(values.mean())
    values -= mean
    squares = 0.0
    for begin in range(0, kept, DOT_ELEMENTS):
        part = values[begin : begin + DOT_ELEMENTS]
        squares += float(np.dot(part, part))
    return Found(count, kept, zeros, nans, infinities, least, most, mean, squares)


def of_array(array: np.ndarray[Any, Any], block: int) -> Found:
    """Return the statistics of an array, which is read in blocks."""
    flat = array.reshape(-1)
    found = Found()
    for begin in range(0, flat.size, block):
        found = found.joined(of_block(flat[begin : begin + block]))
    return found


def stats(folder: Path) -> Task:
    """Every initializer, in blocks."""
    return _stats(folder, BLOCK_ELEMENTS)


def stats_whole(folder: Path) -> Task:
    """Every initializer as a whole."""
    return _stats(folder, 1 << 62)


def _stats(folder: Path, block: int) -> Task:
    import onnxmap  # this peer works on onnxmap's views, so its process imports onnxmap too

    views = onnxmap.load(model_file(folder)).views()

    def run() -> dict[str, Found]:
        with np.errstate(all="ignore"):
            return {name: of_array(view, block) for name, view in views.items()}

    return Task(run, lambda found, _: seen({name: _facts(one) for name, one in found.items()}))


def _facts(found: Found) -> tuple[Any, ...]:
    deviation = math.sqrt(found.squares / found.finite) if found.finite else 0.0
    return (*found[:7], found.mean, deviation)


def seen(facts: dict[str, tuple[Any, ...]]) -> dict[str, str]:
    """Prove equal work: counts and extremes are exact, mean and deviation have nine digits.

    The mean is compared relative to the deviation: for weights it is near 0, a difference of large
    sums.
    """
    rows = [
        (name, *one[:7], f"{one[7] / (one[8] or 1.0):.6f}", f"{one[8]:.8e}")
        for name, one in facts.items()
    ]
    return {"stats": witness.digest(rows)}
