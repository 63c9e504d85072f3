"""The paths of files that are written."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from onnxmap._base.paths import absolute_path, checked_name, is_url
from onnxmap.errors import SaveError

if TYPE_CHECKING:
    from onnxmap._base.paths import Path


def local_path(path: Path) -> bytes:
    """Return the absolute path of a file that is written."""
    name = checked_name(path)
    if is_url(name):
        raise SaveError("a model can be saved to a local path only", code="save.remote")
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "")
    if name.endswith(b"/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(name))
    return absolute_path(name)
