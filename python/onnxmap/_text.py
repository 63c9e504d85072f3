"""Text from files, sizes and counts as people read them, the same in messages and commands."""

from __future__ import annotations

# Bytes that are not UTF-8 become lone surrogates (PEP 383).
_FIRST_ESCAPED_BYTE, _LAST_ESCAPED_BYTE = 0xDC80, 0xDCFF
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


def qualified(domain: str, name: str) -> str:
    """Return the name of an operator or function with its domain, like `com.microsoft.Gelu`."""
    return f"{domain}.{name}" if domain else name


def counted(number: int, what: str) -> str:
    """Return `1 node`, `2,000 nodes`; for nouns whose plural only adds an s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
