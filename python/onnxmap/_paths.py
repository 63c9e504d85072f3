"""Paths as the operating system understands them."""

from __future__ import annotations

import os
import re

_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z][A-Za-z0-9+.-]*::.*://", re.DOTALL)
_LOCAL = (b"file", b"local")


def absolute_path(path: bytes) -> bytes:
    """`path` from the root on, for a process that changes its folder later.

    Not `os.path.abspath`: that takes `link/..` for the folder that holds the link, where the system
    goes to the one above what the link leads to.
    """
    joined = os.path.join(os.getcwdb(), path)  # noqa: PTH109, PTH118 -- bytes
    return joined if b".." in joined.split(b"/") else os.path.normpath(joined)


def is_url(name: bytes) -> bool:
    """Whether a name is a URL, like `s3://…` or `simplecache::https://…`, and no file that exists."""
    return b"://" in name and bool(_URL.match(name)) and not os.path.exists(name)  # noqa: PTH110


def without_file_scheme(name: bytes) -> bytes:
    """The path in a `file://` URL; anything else as it is."""
    scheme, _, path = name.partition(b"://")
    return path if path and scheme.lower() in _LOCAL and is_url(name) else name
