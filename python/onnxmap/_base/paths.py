"""Paths as the operating system understands them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z][A-Za-z0-9+.-]*::.*://", re.DOTALL)
_LOCAL = (b"file", b"local")


def absolute_path(path: bytes) -> bytes:
    """Return `path` as an absolute path, which stays right if the process changes its folder.

    This is not `os.path.abspath`, which takes `link/..` for the folder that holds the link. The
    system takes it for the folder above the target of the link.
    """
    # The folder of the process may be gone, which matters only to a relative path.
    joined = path if path.startswith(b"/") else os.path.join(os.getcwdb(), path)  # noqa: PTH109, PTH118 -- bytes
    return joined if b".." in joined.split(b"/") else os.path.normpath(joined)


def checked_name(path: Path, advice: str = "") -> bytes:
    """Return a path, or a URL, as bytes. `advice`: what the error for a wrong one adds.

    Raises:
        ValueError: it has a null byte.
    """
    name = without_file_scheme(os.fsencode(path))
    if b"\0" in name:
        raise ValueError(f"embedded null byte in a path{advice}")
    return name


def absolute_or_url(path: Path) -> str:
    """Return the absolute path, or the URL as it is."""
    name = checked_name(path)
    return os.fsdecode(name if is_url(name) else absolute_path(name))


def is_url(name: bytes) -> bool:
    """Return whether a name is a URL, like `s3://…`, and not the name of an existing file."""
    return b"://" in name and bool(_URL.match(name)) and not os.path.exists(name)  # noqa: PTH110


def without_file_scheme(name: bytes) -> bytes:
    """Return the path in a `file://` URL; return anything else unchanged."""
    scheme, _, path = name.partition(b"://")
    return path if path and scheme.lower() in _LOCAL and is_url(name) else name
