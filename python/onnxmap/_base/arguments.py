"""Reads arguments that mean the same in several functions: sizes, and numbers of threads."""

from __future__ import annotations

import operator
import re
from fractions import Fraction

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}


def parse_size(size: int | str) -> int:
    """Return the number of bytes in a size like "256MiB", "1.5 GB", "4096" or 4096.

    Raises:
        ValueError: the text is not a size.
        TypeError: the size is neither text nor an integer.
    """
    if not isinstance(size, str):
        try:
            return operator.index(size)
        except TypeError:
            kind = type(size).__name__
            raise TypeError(f'a size is an int or a text like "256MiB", not {kind}') from None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", size, re.ASCII | re.IGNORECASE)
    if found is None or (unit := _UNITS.get(found[2].lower())) is None:
        raise ValueError(f'a size is written like "256MiB" or "1.5 GB", not {size!r}')
    return int(Fraction(found[1]) * unit)


def thread_count(threads: int | None) -> int:
    """Return the number of threads; 0 lets the core choose.

    Raises:
        ValueError: the number is not from 1 to 1024.
        TypeError: it is not an integer.
    """
    if threads is None:
        return 0
    count = operator.index(threads)
    if not 1 <= count <= 1024:
        raise ValueError(f"threads must be from 1 to 1024, not {threads}")
    return count
