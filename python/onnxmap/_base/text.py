"""Text from files, sizes and counts as people read them, the same in messages and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxmap.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


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
