"""Draws the results of `onnxmap bench`: a block for each work, a line for each contender."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnxmap._text import bytes_in_words, counted, escape
from onnxmap.cli.bench.samples import WORKS
from onnxmap.cli.screen import Screen
from onnxmap.cli.text import TIMES, cut, seconds_in_words

_HEADINGS = ("", "median", "min", "max", "to ours", "own", "of files", "peak")
_GAP = "  "
_INDENT = "  "
_FEW_DIGITS = 100


def page(facts: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    """Return the lines of the whole page."""
    rows = {id(result): _row(result) for result in facts["results"]}
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows.values(), strict=True)]
    yield from _head(facts, screen)
    yield screen.styled(_line(_HEADINGS, widths), "bold")
    for work, words in WORKS.items():
        yield screen.styled(words, "bold cyan")
        for result in facts["results"]:
            if result["work"] == work:
                yield _told(result, rows[id(result)], widths, screen)


def _head(facts: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    total = facts["nbytes"] + sum(file["nbytes"] or 0 for file in facts["external_files"])
    tensors = counted(facts["initializers"]["count"], "initializer")
    name = cut(escape(facts["path"]), max(screen.width // 2, 1))
    yield screen.styled(f"{name}  {bytes_in_words(total)}, {tensors}", "bold")
    state = "not in the page cache" if facts["cold"] else "in the page cache"
    yield f"{counted(facts['rounds'], 'round')}, {counted(facts['cores'], 'core')}, files {state}"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield screen.styled(versions, "dim")
    yield ""


def _row(result: Mapping[str, Any]) -> tuple[str, ...]:
    name = _INDENT + result["contender"]
    if not result["seconds"]:
        return (name, *[""] * (len(_HEADINGS) - 1))
    seconds = result["seconds"]
    times = (result["median_seconds"], min(seconds), max(seconds))
    sizes = (result["own_bytes"], result["file_bytes"], result["peak_bytes"])
    return (
        name,
        *map(seconds_in_words, times),
        _times(result["times_ours"]),
        *("?" if size is None else bytes_in_words(int(size)) for size in sizes),
    )


def _times(quotient: float | None) -> str:
    if quotient is None:
        return ""
    digits = f"{quotient:,.0f}" if quotient >= _FEW_DIGITS else f"{quotient:.3g}"
    return f"{TIMES}{digits}"


def _told(
    result: Mapping[str, Any], row: Sequence[str], widths: Sequence[int], screen: Screen
) -> str:
    """The line of a result: its figures, or why there are none."""
    if result["error"] is None:
        style = "bold" if result["contender"] == "onnxmap" else ""
        return screen.styled(_line(row, widths), style)
    name = row[0].ljust(widths[0]) + _GAP
    return name + screen.styled(cut(escape(result["error"]), screen.width - len(name)), "red")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if index == 0 else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return _GAP.join([first, *others]).rstrip()
