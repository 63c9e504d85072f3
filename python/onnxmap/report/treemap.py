"""The treemap of a report: rectangles whose areas are the bytes of tensors."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from onnxmap._base.extras import extra
from onnxmap._base.text import bytes_in_words, counted

with extra("report"):
    from squarify import normalize_sizes, squarify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxmap.report.weights import Row

    Box = tuple[float, float, float, float]

_MOST_CELLS = 60
_LEAST_SHARE = 1 / 400  # of all bytes; smaller parts share a rectangle
_RUNS_SHARE = 1 / 8  # of all bytes; a group so large is split even if all its parts are small
_ALIKE = 0.9  # the ratio of two sizes that look equal
_MOST_LOOKS = 1_000_000  # at names, of all groups together: one second
_THINNEST = 1e-4  # of a rectangle; squarify divides by zero if a part is much thinner
_PART = re.compile(r"[^./]*[./]?")


class Cell(NamedTuple):
    """A rectangle of the treemap, in a box of 1000 by 420."""

    label: str
    size: str
    detail: str
    dtype: str
    is_rest: bool
    x: float
    y: float
    width: float
    height: float


def treemap(rows: Iterable[Row]) -> list[Cell]:
    """Return rectangles for the largest tensors, or for all whose names begin alike.

    The largest group is split first, together with those that look equally large: each of them into
    as many parts as the others.
    """
    whole = _Group("*", [row for row in rows if row.nbytes > 0])
    if not whole.rows:
        return []
    waiting, cells, looks = [whole], 1, 0
    while waiting and looks < _MOST_LOOKS:
        alike = [heapq.heappop(waiting)]
        while waiting and waiting[0].nbytes >= _ALIKE * alike[-1].nbytes:
            alike.append(heapq.heappop(waiting))
        most = 1 + (_MOST_CELLS - cells) // len(alike)
        if most < 2:
            break
        for group in alike:
            looks += len(group.rows)
            group.split(most, whole.nbytes)
            cells += max(len(group.parts) - 1, 0)
            for part in group.parts:
                if len(part.rows) > 1 and not part.is_rest:
                    heapq.heappush(waiting, part)
    return list(whole.cells((0.0, 0.0, 1000.0, 420.0), whole.nbytes))


class _Group:
    """Tensors that are one rectangle, or several once the group is split."""

    def __init__(self, label: str, rows: list[Row], is_rest: bool = False) -> None:
        self.label = rows[0].name if len(rows) == 1 else label
        self.rows, self.is_rest = rows, is_rest
        self.nbytes = sum(row.nbytes for row in rows)
        self.parts: list[_Group] = []

    def __lt__(self, other: _Group) -> bool:
        return self.nbytes > other.nbytes  # the largest one comes first

    def split(self, most: int, total: int) -> None:
        """Into at most that many parts: the large ones and the rest, or runs of small ones."""
        prefix, named = self._by_name()
        parts = sorted(named)
        large = sum(part.nbytes >= total * _LEAST_SHARE for part in parts)
        if not large and self.nbytes >= total * _RUNS_SHARE:
            step = math.ceil(len(named) / most)
            self.parts = [_run(named[i : i + step]) for i in range(0, len(named), step)]
        elif large == len(parts) <= most:
            self.parts = parts
        elif large > 1 or (large and (len(parts[0].rows) > 1 or self.nbytes == total)):
            large = min(large, most - 1)
            rest = [row for part in parts[large:] for row in part.rows]
            label = f"rest of {prefix}*" if prefix else "rest"
            self.parts = [*parts[:large], _Group(label, rest, is_rest=len(rest) > 1)]

    def _by_name(self) -> tuple[str, list[_Group]]:
        """How the names begin, and a group for each next part; for each tensor if names repeat."""
        names = [row.name for row in self.rows]
        ends = zip(min(names), max(names), strict=False)
        prefix = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], ends))
        prefix = prefix[: max(prefix.rfind("."), prefix.rfind("/")) + 1]
        parts: dict[str, list[Row]] = {}
        for row in self.rows:
            part = _PART.match(row.name, len(prefix))
            parts.setdefault(part[0] if part else "", []).append(row)
        if len(parts) == 1:
            return prefix, [_Group("", [row]) for row in self.rows]
        return prefix, [_Group(f"{prefix}{part}*", rows) for part, rows in parts.items()]

    def cells(self, box: Box, total: int) -> Iterator[Cell]:
        """The rectangles in this one."""
        if not self.parts:
            yield self._cell(box, total)
            return
        parts = sorted(self.parts)
        sizes = [max(part.nbytes, self.nbytes * _THINNEST) for part in parts]
        for part, place in zip(
            parts, squarify(normalize_sizes(sizes, *box[2:]), *box), strict=True
        ):
            yield from part.cells((place["x"], place["y"], place["dx"], place["dy"]), total)

    def _cell(self, box: Box, total: int) -> Cell:
        types = Counter[str]()
        for row in self.rows:
            types[row.dtype] += row.nbytes
        size = f"{bytes_in_words(self.nbytes)} ({self.nbytes / total:.1%})"
        detail = f"{counted(len(self.rows), 'tensor')}, {size}, {', '.join(types)}"
        return Cell(self.label, size, detail, types.most_common(1)[0][0], self.is_rest, *box)


def _run(groups: list[_Group]) -> _Group:
    """Groups that follow each other in the model, as one."""
    rows = [row for group in groups for row in group.rows]
    return _Group(f"{groups[0].label} to {groups[-1].label}", rows)
