"""Text from files, sizes, counts and names as people read them: in messages and commands alike."""

from __future__ import annotations

import heapq
from itertools import takewhile
from typing import TYPE_CHECKING

from onnxmap._base.later import import_module
from onnxmap.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_MOST_SUGGESTED = 3
_LONGEST_NAME = 200  # characters shown or compared
# difflib takes some 20 us for a usual name of 30 characters, and four times as long for names twice
# as long. Of longer lists, it looks at the names with the most in common with the wrong one at both
# ends.
_MOST_COMPARED, _USUAL = 500, 30
_LEAST = 0.6  # difflib's own default
_LEAST_CONTAINED = 3  # shorter texts are parts of nearly any name


def shortened(text: str, most: int = 80) -> str:
    """Return text from a file on one line, printable and of at most that many characters."""
    return printable(text if len(text) <= most else text[: most - 3] + "...")


def bytes_in_words(nbytes: float) -> str:
    """Return a size as text: `512 B`, `1.5 kB`, `16.8 MB` (1 kB is 1000 bytes)."""
    size, unit = float(nbytes), 0
    while size >= 999.95 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"


def shape_in_words(shape: Iterable[int | str | None] | None) -> str:
    """Return `[batch, 3, ?]`, `[]` for a scalar, or `unknown rank`, as messages and reprs do."""
    if shape is None:
        return "unknown rank"
    return f"[{', '.join('?' if dim is None else printable(str(dim)) for dim in shape)}]"


def type_in_words(declared: object) -> str:
    """Return the type of a value, like `FLOAT [N, 3]`; "undeclared" if it has none."""
    return str(declared or "undeclared")


def qualified(domain: str, name: str) -> str:
    """Return the name of an operator or function with its domain, like `com.microsoft.Gelu`."""
    return f"{domain}.{name}" if domain else name


def counted(number: int, what: str) -> str:
    """Return `1 node`, `2,000 nodes`; for nouns whose plural only adds an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def suggestion(near: Iterable[str]) -> str:
    """Return what an error adds to suggest these names; nothing for no names."""
    shown = " or ".join(printable(repr(each[:_LONGEST_NAME])) for each in near)
    return f"; did you mean {shown}?" if shown else ""


def nearest(name: str, names: Iterable[str], least: float = _LEAST) -> list[str]:
    """Return the names that are most like `name`, the nearest first; none if none is like it.

    Names that contain it come first, the shortest of them before the others. `least` is how much
    the others must be like it: 1 is equal.
    """
    name = name[:_LONGEST_NAME]
    whole = {each[:_LONGEST_NAME]: each for each in names}
    first = sorted(containing(name, whole), key=len)[:_MOST_SUGGESTED]
    candidates = [each for each in whole if each not in first]
    most = min(_MOST_COMPARED, _MOST_COMPARED * _USUAL**2 // max(len(name), 1) ** 2)
    if len(candidates) > most:
        candidates = heapq.nlargest(most, candidates, key=lambda each: _in_common(name, each))
    difflib = import_module("difflib")  # costs import time
    near = difflib.get_close_matches(name, candidates, _MOST_SUGGESTED, least)
    return [whole[each] for each in (first + near)[:_MOST_SUGGESTED]]


def containing(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that contain `name`; none if it is so short that nearly all may."""
    return [each for each in names if name in each] if len(name) >= _LEAST_CONTAINED else []


def _in_common(a: str, b: str) -> int:
    """The number of characters that two names have in common at both ends."""
    ends = zip(a, b, strict=False), zip(a[::-1], b[::-1], strict=False)
    return sum(1 for end in ends for _ in takewhile(lambda pair: pair[0] == pair[1], end))
