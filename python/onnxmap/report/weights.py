"""The weights of a model for its report: the table, the treemap and the histograms."""

from __future__ import annotations

import functools
import heapq
import math
import re
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxmap._base.enums import DataType
from onnxmap._base.extras import extra
from onnxmap._base.schema import type_name
from onnxmap._base.text import bytes_in_words, counted, escape
from onnxmap.errors import OnnxMapError

with extra("report"):
    from markupsafe import Markup
    from squarify import squarify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxmap._core import Tensor
    from onnxmap._model import Model

_MOST_ROWS = 200_000
_LONGEST = 120  # characters of a name in the table
_PARTS = 8  # of a name that make groups
_MOST_CELLS = 60
_LEAST_SHARE = 1 / 400  # of all bytes; smaller groups share a rectangle
_MAP_WIDTH, _MAP_HEIGHT = 1000.0, 420.0
_HISTOGRAMS, _BINS = 12, 48
# A larger tensor is sampled. This takes 50 ms for all histograms.
_SAMPLE = 1 << 20


_type_name = functools.cache(type_name)
_UNORDERED = {DataType[name] for name in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")}
_ORDERED = frozenset(map(int, DataType)) - _UNORDERED


class Row(NamedTuple):
    """A tensor in the table."""

    name: str
    dtype: str
    shape: str
    nbytes: int
    place: str


class Cell(NamedTuple):
    """A rectangle of the treemap: tensors whose names begin alike."""

    label: str
    detail: str
    dtype: str
    x: float
    y: float
    width: float
    height: float


def table(model: Model) -> tuple[list[Row], int]:
    """Return a row for each tensor, also in nodes and functions, and how many are left out."""
    tensors = sorted(model.tensors(), key=lambda each: not each[0].startswith("graph.initializer["))
    rows = [_row(path, tensor) for path, tensor in tensors[:_MOST_ROWS]]
    return rows, len(tensors) - len(rows)


def _row(path: str, tensor: Tensor) -> Row:
    name = tensor.name or path
    name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
    dtype = _type_name(tensor.proto.data_type)
    try:
        shape = "x".join(map(str, tensor.shape)) or "scalar"
        external = tensor.external
    except OnnxMapError as error:
        return Row(escape(name), dtype, "?", 0, error.code)
    place = "inline" if external is None else escape(external.location[-_LONGEST:])
    return Row(escape(name), dtype, shape, tensor.nbytes, place)


class _Group:
    """Tensors whose names begin with the same parts."""

    def __init__(self, prefix: str, depth: int, rows: list[tuple[list[str], Row]]) -> None:
        self.prefix, self.depth, self.rows = prefix, depth, rows
        self.nbytes = sum(row.nbytes for _, row in rows)

    def __lt__(self, other: _Group) -> bool:
        return self.nbytes > other.nbytes  # the largest one is split first

    def split(self) -> list[_Group]:
        """By the next part of the names; further until there are two groups, if there ever are."""
        prefix = self.prefix
        for depth in range(self.depth, _PARTS):
            parts: dict[str, list[tuple[list[str], Row]]] = {}
            for each in self.rows:
                part = each[0][depth] if len(each[0]) > depth else ""
                parts.setdefault(part, []).append(each)
            if len(parts) > 1:
                return [_Group(prefix + part, depth + 1, rows) for part, rows in parts.items()]
            prefix += next(iter(parts))
        return [self]


def treemap(rows: Iterable[Row]) -> list[Cell]:
    """Return rectangles whose areas are the bytes of groups of tensors."""
    split = re.compile(r"(?<=[./])")
    named = [(split.split(row.name, _PARTS), row) for row in rows if row.nbytes > 0]
    if not named:
        return []
    waiting, done = [_Group("", 0, named)], list[_Group]()
    total = waiting[0].nbytes
    while waiting and (room := _MOST_CELLS - len(waiting) - len(done)) > 0:
        largest = heapq.heappop(waiting)
        parts = sorted(largest.split())
        shown = [part for part in parts if part.nbytes >= total * _LEAST_SHARE][:room]
        if len(shown) < 2:
            done.append(largest)
            continue
        for part in shown:
            heapq.heappush(waiting, part)
        if rest := [row for part in parts[len(shown) :] for row in part.rows]:
            done.append(_Group(largest.prefix, _PARTS, rest))
    groups = sorted(waiting + done)
    areas = [group.nbytes / total * _MAP_WIDTH * _MAP_HEIGHT for group in groups]
    places = squarify(areas, 0, 0, _MAP_WIDTH, _MAP_HEIGHT)
    return [_cell(*both, total) for both in zip(groups, places, strict=True)]


def _cell(group: _Group, place: dict[str, float], total: int) -> Cell:
    types = Counter[str]()
    for _, row in group.rows:
        types[row.dtype] += row.nbytes
    label = group.rows[0][1].name if len(group.rows) == 1 else f"{group.prefix}*"
    detail = f"{counted(len(group.rows), 'tensor')}, {bytes_in_words(group.nbytes)} "
    detail += f"({group.nbytes / total:.1%}), {', '.join(types)}"
    dtype = types.most_common(1)[0][0]
    return Cell(label, detail, dtype, place["x"], place["y"], place["dx"], place["dy"])


def histograms(model: Model) -> list[dict[str, Any]]:
    """Return the histograms of the largest initializers, as points of a line in a box of 1 by 1."""
    initializers = model.initializers
    sized = zip(initializers.nbytes(), initializers.dtypes(), initializers.all(), strict=True)
    ordered = (each for each in sized if each[1] in _ORDERED)
    largest = heapq.nlargest(_HISTOGRAMS, ordered, key=itemgetter(0))
    return [_histogram(tensor) for _, _, tensor in largest]


def _histogram(tensor: Tensor) -> dict[str, Any]:
    try:
        counts, edges = tensor.histogram(_BINS, sample=_SAMPLE)
        size = tensor.size
    except (OnnxMapError, OSError) as error:
        return {"name": tensor.name, "error": str(error)}
    return {
        "name": tensor.name,
        "error": "",
        "dtype": type_name(tensor.dtype),
        "first": f"{edges[0]:.4g}",
        "last": f"{edges[-1]:.4g}",
        "note": "a sample of " if size > _SAMPLE else "",
        "size": size,
        "outline": _outline(counts.tolist()),
    }


def _outline(counts: Sequence[int]) -> Markup:
    """An SVG path of bars, one beside the other, in a box of 480 by 100."""
    most = max(max(counts), 1)
    width = 480 / len(counts)
    tops = (100 - math.ceil(100 * count / most) for count in counts)
    steps = "".join(f"V{top}h{width:g}" for top in tops)
    return Markup(f"M0 100{steps}V100z")
