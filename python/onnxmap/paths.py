"""Paths as the operating system understands them."""

from __future__ import annotations

import os


def absolute_path(path: bytes) -> bytes:
    """`path` from the root on, for a process that changes its folder later.

    Not `os.path.abspath`: that takes `link/..` for the folder that holds the link, where the system
    goes to the one above what the link leads to.
    """
    joined = os.path.join(os.getcwdb(), path)  # noqa: PTH109, PTH118 -- bytes
    return joined if b".." in joined.split(b"/") else os.path.normpath(joined)
