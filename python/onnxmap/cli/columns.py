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
# On a terminal the column is as wide as nearly all names need, and a little wider. Longer names are
# cut.
_NEARLY_ALL, _SO_MUCH_LONGER = 0.95, 1.25


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
    longest = [_LONGEST_IN_A_PIPE] * len(columns)
    for cells in zip(*(column.cells for column in columns), strict=True):
        shown = map(_fitted, cells, widths if screen.is_terminal else longest)
        yield _line(shown, columns, widths, codes)


def _fit(columns: Sequence[Column], available: int) -> tuple[Sequence[Column], list[int]]:
    """The columns that fit into `available` characters, with their widths.

    The first column holds the names, which matter most: it is cut only after all others.
    """
    widths = [max(_widths(column)) for column in columns]
    widths[0] = min(widths[0], _usual_width(columns[0]))
    while (excess := sum(widths) + len(_GAP) * (len(widths) - 1) - available) > 0:
        others = range(len(columns) - 1, 0, -1)
        if excess > sum(_spare(columns[index], widths[index]) for index in others):
            dropped = next((index for index in others if columns[index].droppable), None)
            if dropped is not None:
                columns = [*columns[:dropped], *columns[dropped + 1 :]]
                del widths[dropped]
                continue
        for index in (*others, 0):
            taken = min(max(excess, 0), _spare(columns[index], widths[index]))
            widths[index] -= taken
            excess -= taken
        break
    return columns, widths


def _usual_width(column: Column) -> int:
    widths = sorted(map(_width, column.cells)) or [0]
    usual = int(widths[int((len(widths) - 1) * _NEARLY_ALL)] * _SO_MUCH_LONGER)
    return max(usual, _width(column.heading))


def _spare(column: Column, width: int) -> int:
    return 0 if column.narrowest is None else max(width - column.narrowest, 0)


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


def _fitted(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    characters = width
    while _width(shorter := cut(text, characters)) > width:
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
