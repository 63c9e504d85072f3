"""Lays out lists in columns: one pass over each column, then one line at a time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onnxmap.cli.screen import Screen
from onnxmap.cli.text import cut

_GAP = "  "
# In a pipe, columns are padded to at most 120 characters: a few very long names must not push all
# other cells far to the right. Longer cells are written in full, for scripts, and cut only beyond
# 1000, a length that no real name has.
_WIDEST_IN_A_PIPE = 120
_LONGEST_IN_A_PIPE = 1000
# On a narrow terminal, a few very long cells are cut first: the column is as wide as nearly all
# need, and a little wider.
_NEARLY_ALL, _SO_MUCH_LONGER = 0.95, 1.25
# How much of a cut cell is its end. Of these, the first that keeps the most cells apart is taken:
# all paths in a subgraph begin alike, and may also end alike.
_TAIL_SHARES = (0.5, 0.75, 1.0, 0.25)


@dataclass
class Column:
    """A heading and its cells.

    Attributes:
        narrowest: the width to which it may be cut if the terminal is too small; None if it is
            never cut.
        droppable: whether it is left out if the first column would be cut otherwise.
    """

    heading: str
    cells: Sequence[str]
    right: bool = False
    style: str = ""
    narrowest: int | None = None
    droppable: bool = False


def lay_out(columns: Sequence[Column], screen: Screen, *, headed: bool = True) -> Iterator[str]:
    """Return the lines of the table, the first one with the headings if it is `headed`.

    On a terminal they are cut to its width. Elsewhere each cell is cut to 1000 characters.
    """
    if screen.is_terminal:
        columns, widths = _fit(columns, screen.width)
    else:
        widths = [min(max(_widths(column)), _WIDEST_IN_A_PIPE) for column in columns]
    if headed:
        heading = [screen.codes("bold")] * len(columns)
        yield _line([column.heading for column in columns], columns, widths, heading)
    codes = [screen.codes(column.style) for column in columns]
    if screen.is_terminal:
        tails = [_tail_share(column, width) for column, width in zip(columns, widths, strict=True)]
        most = widths
    else:
        tails = [_TAIL_SHARES[0]] * len(columns)
        most = [_LONGEST_IN_A_PIPE] * len(columns)
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield _line(map(_fitted, cells, most, tails), columns, widths, codes)


def _fit(columns: Sequence[Column], available: int) -> tuple[Sequence[Column], list[int]]:
    """The columns that fit into `available` characters, with their widths.

    A few very long cells are cut first. The first column holds the names, which matter most: it is
    made narrower than its usual cell only after all others.
    """
    while True:
        widths = [min(max(_widths(column)), available) for column in columns]
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - available
        usual = [
            min(width, _usual_width(column)) if column.narrowest is not None else width
            for column, width in zip(columns, widths, strict=True)
        ]
        least = [
            width if column.narrowest is None else min(width, column.narrowest)
            for column, width in zip(columns, usual, strict=True)
        ]
        least_with_names = [usual[0], *least[1:]]
        if excess > sum(widths) - sum(least_with_names):
            dropped = next((i for i in range(len(columns) - 1, 0, -1) if columns[i].droppable), 0)
            if dropped:
                columns = [*columns[:dropped], *columns[dropped + 1 :]]
                continue
        for lowest in (usual, least_with_names, least):
            excess = _narrow(widths, lowest, excess)
        return columns, widths


def _narrow(widths: list[int], lowest: Sequence[int], excess: int) -> int:
    """Take up to `excess` from the widest columns, but no column falls below its lowest width.

    Return what could not be taken.
    """
    while excess > 0:
        spare = [i for i, width in enumerate(widths) if width > lowest[i]]
        if not spare:
            break
        widths[max(spare, key=widths.__getitem__)] -= 1
        excess -= 1
    return excess


def _usual_width(column: Column) -> int:
    widths = sorted(map(_width, column.cells)) or [0]
    usual = int(widths[int((len(widths) - 1) * _NEARLY_ALL)] * _SO_MUCH_LONGER)
    return max(usual, _width(column.heading))


def _tail_share(column: Column, width: int) -> float:
    """How much of a cut cell is its end, so that the most cells still differ."""
    long = {cell for cell in column.cells if _width(cell) > width}

    def kept_apart(share: float) -> int:
        return len({_fitted(cell, width, share) for cell in long})

    if kept_apart(_TAIL_SHARES[0]) == len(long):
        return _TAIL_SHARES[0]
    return max(_TAIL_SHARES, key=kept_apart)


def _widths(column: Column) -> list[int]:
    return [_width(column.heading), *map(_width, column.cells)]


def _width(text: str) -> int:
    """The width of `text` on a terminal: a Chinese or Japanese character takes two columns."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitted(text: str, width: int, tail_share: float) -> str:
    if _width(text) <= width:
        return text
    characters = width
    while _width(shorter := cut(text, characters, tail_share)) > width:
        characters -= 1
    return shorter


def _line(
    cells: Iterable[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    codes: Sequence[tuple[str, str]],
) -> str:
    parts = []
    for cell, column, width, (before, after) in zip(cells, columns, widths, codes, strict=True):
        padding = " " * (width - _width(cell))
        shown = f"{before}{cell}{after}"
        parts.append(padding + shown if column.right else shown + padding)
    return _GAP.join(parts).rstrip()
