"""Texts for names, durations and shapes, shared by all commands."""

from __future__ import annotations

import os
from collections.abc import Sequence

from onnxmap._text import escape

TIMES = "\N{MULTIPLICATION SIGN}"
# For terminals that show only ASCII: one character for one, so that columns stay aligned.
IN_ASCII = {"µ": "u", "·": "-", TIMES: "x", "…": "~", "█": "#", "▏": "|", "✓": "+", "✗": "!"}


def cut(text: str, width: int, tail_share: float = 0.5) -> str:
    """Return `text` in at most `width` characters. The middle is cut: names differ at the ends.

    Args:
        text: what to cut.
        width: the most characters.
        tail_share: how much of what is kept is the end of the text.
    """
    if len(text) <= width:
        return text
    if width < 3:
        return text[:width]
    tail = int((width - 1) * tail_share)
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def seconds_in_words(seconds: float) -> str:
    """Return a duration as text: `85 µs`, `1.24 ms`, `3.20 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds:.2f} s"


def short_path(path: str) -> str:
    """Return the path relative to the current folder if it is below it, else unchanged."""
    below = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 -- the text may not be a path
    return path.removeprefix(below)


def shape_in_words(shape: Sequence[int | str | None] | None) -> str:
    """Return the dimensions with times signs between, `?` if unknown; or `scalar`, `any shape`."""
    if shape is None:
        return "any shape"
    if not shape:
        return "scalar"
    return TIMES.join("?" if dim is None else escape(str(dim)) for dim in shape)
