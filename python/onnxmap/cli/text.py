"""Texts for names and durations, and JSON, shared by all commands."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import ceil

# For terminals that show only ASCII: one character for one, so that columns stay aligned.
IN_ASCII = {"µ": "u", "·": "-", "…": "~", "█": "#", "▏": "|", "✓": "+", "✗": "!"}
_BARS = "▁▂▃▄▅▆▇█"  # of rising height
IN_ASCII |= zip(_BARS, "_.-=+*%#", strict=True)


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` characters. The middle is cut: names differ at the ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def print_json(facts: object) -> None:
    """Print one object."""
    print(json.dumps(facts, indent=2))


def print_json_list(rows: Iterable[object]) -> None:
    """Print a list of objects, one a line."""
    lines = ",\n ".join(map(json.dumps, rows))
    print(f"[{lines}]")


def natural(name: str) -> list[tuple[int, str]]:
    """Return the key by which names are sorted: numbers in them by value, `w.2` before `w.10`."""
    return [
        (int(part), part) if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"([0-9]{1,18})", name)
    ]


def spread_in_words(counts: Sequence[int]) -> str:
    """Return a bar for each number, as high as its share of the greatest one; a space for 0."""
    steps = max(counts, default=0) / len(_BARS)
    return "".join(_BARS[ceil(count / steps) - 1] if count else " " for count in counts)


def seconds_in_words(seconds: float) -> str:
    """Return a duration as text: `85 µs`, `1.24 ms`, `3.20 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds:.2f} s"


def short_path(path: str) -> str:
    """Return the path relative to the current folder if it is below it, else unchanged."""
    with suppress(FileNotFoundError):  # the current folder may be gone
        path = path.removeprefix(os.path.join(os.getcwd(), ""))  # noqa: PTH109, PTH118 -- any text
    return path
