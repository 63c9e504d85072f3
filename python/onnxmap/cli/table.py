"""Tables: drawn by rich on a terminal, and tab-separated lines everywhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import repeat
from typing import Any

from onnxmap.cli.text import cut
from onnxmap.errors import printable

# rich lays out about 1000 rows a second, which nobody would wait for. Plain lines come at once.
_MOST_ROWS = 500
# No real name is longer. The text of a cell may be as long as the file.
_MOST_CHARACTERS = 1000
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: the text above the column.
        style: words of rich, like "dim cyan".
        right: whether cells are aligned at the right.
        spare: whether a narrow terminal leaves the column out.
        least: on a narrow terminal, cells go on in the next line if they have more characters than
            this; None keeps them on one line.
        apart: what stands between digits or words for people; a pipe gets cells without it.
    """

    heading: str = ""
    style: str = ""
    right: bool = False
    spare: bool = False
    least: int | None = None
    apart: str = ""


Name = partial(Column, style="cyan", least=24)
Text = partial(Column, least=12)
# `sort -n` and awk read 1,000 as 1, and [2, 3] as two fields.
Number = partial(Column, right=True, apart=",")
Shape = partial(Text, apart=" ")


def print_table(columns: Sequence[Column], rows: Rows, footer: str = "") -> None:
    """Print rows of texts. Characters that could control a terminal are escaped.

    Args:
        columns: the headings and styles. Without any heading, the rows begin in the first line.
        rows: the texts.
        footer: a last line, which only a terminal gets.
    """
    is_terminal = sys.stdout.isatty()
    gaps = ["" if is_terminal else column.apart for column in columns]
    shown = (
        [cut(printable(cell), _MOST_CHARACTERS) for cell in map(str.replace, row, gaps, repeat(""))]
        for row in rows
    )
    if is_terminal and len(rows) <= _MOST_ROWS and find_spec("rich") is not None:
        _draw(columns, list(shown), footer)
        return
    if _are_headed(columns):
        sys.stdout.write("\t".join(column.heading for column in columns) + "\n")
    sys.stdout.writelines("\t".join(cells) + "\n" for cells in shown)
    if footer and is_terminal:
        sys.stdout.write(footer + "\n")


def _are_headed(columns: Iterable[Column]) -> bool:
    return any(column.heading for column in columns)


def print_results(
    headings: Iterable[str], results: Sequence[tuple[str, Iterable[str], str | None]]
) -> None:
    """Print a line for each contender, with its name and figures, and then why some failed."""
    rows = [(name, *figures) for name, figures, _ in results]
    print_table([Name(), *map(Number, headings)], rows)
    for name, _, error in results:
        if error is not None:
            print(printable(f"{name}: {error}"))


def _draw(columns: Sequence[Column], rows: Rows, footer: str) -> None:
    from rich import console, table, text

    # For rich, NO_COLOR still allows bold text. Source of the variable: no-color.org.
    system: Any = None if os.environ.get("NO_COLOR") else "auto"
    kept, width = _kept(columns, rows, shutil.get_terminal_size().columns)
    screen = console.Console(color_system=system, force_terminal=True, width=width)
    drawn = table.Table(box=None, pad_edge=False, show_header=_are_headed(columns))
    for column in (columns[i] for i in kept):
        drawn.add_column(
            column.heading, style=column.style, justify="right" if column.right else "left",
            no_wrap=column.least is None, overflow="fold",
        )  # fmt: skip
    for cells in rows:  # a string would be read as markup
        drawn.add_row(*(text.Text(cells[i]) for i in kept if i < len(cells)))
    screen.print(drawn)
    if footer:
        screen.print(text.Text(footer, style="dim"))


def _kept(columns: Sequence[Column], rows: Rows, width: int) -> tuple[list[int], int]:
    """The columns that a terminal has room for, and the width of the table at most.

    The last spare columns are left out first. If that is not enough, the terminal wraps the lines.
    """
    needed = []
    for i, column in enumerate(columns):
        longest = max(map(len, (column.heading, *(row[i] for row in rows if i < len(row)))))
        needed.append(min(longest, column.least or longest))
    kept = list(range(len(columns)))
    for i in reversed(range(len(columns))):
        if columns[i].spare and sum(needed[k] + 2 for k in kept) - 2 > width:
            kept.remove(i)
    return kept, max(width, sum(needed[k] + 2 for k in kept) - 2)
