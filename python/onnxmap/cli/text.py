"""Texts for names, numbers and sizes, shared by all commands."""

from __future__ import annotations

from collections.abc import Sequence

# Bytes that are not UTF-8 become lone surrogates (PEP 383).
_FIRST_ESCAPED_BYTE, _LAST_ESCAPED_BYTE = 0xDC80, 0xDCFF
TIMES = "\N{MULTIPLICATION SIGN}"
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    r"""Return `text` with characters escaped that could control a terminal: `\n`, `\x1b`, `\u202e`.

    Characters that `str.isprintable` accepts stay unchanged. The others are control and format
    characters (which could hide or reorder text), other line ends, and bytes that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written_out(char) for char in text)


def _written_out(char: str) -> str:
    number = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if _FIRST_ESCAPED_BYTE <= number <= _LAST_ESCAPED_BYTE:
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` characters. The middle is cut: names differ at the ends."""
    if len(text) <= width:
        return text
    if width < 3:
        return text[:width]
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def bytes_in_words(nbytes: int) -> str:
    """Return a size as text: `512 B`, `1.5 kB`, `16.8 MB` (1 kB is 1000 bytes)."""
    if nbytes < 1000:
        return f"{nbytes} B"
    size = nbytes / 1000
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        if size < 999.95:
            return f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} EB"


def seconds_in_words(seconds: float) -> str:
    """Return a duration as text: `85 µs`, `1.24 ms`, `3.20 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds:.2f} s"


def count(number: int, noun: str) -> str:
    """Return `1 node`, `2,000 nodes`; for nouns whose plural only adds an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shape_in_words(shape: Sequence[int | str | None] | None) -> str:
    """Return the dimensions with times signs between, `?` if unknown; or `scalar`, `any shape`."""
    if shape is None:
        return "any shape"
    if not shape:
        return "scalar"
    return TIMES.join("?" if dim is None else escape(str(dim)) for dim in shape)
