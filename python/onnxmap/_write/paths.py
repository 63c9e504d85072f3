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
    name = checked_name(path)
    if is_url(name):
        raise SaveError("a model can be saved to a local path only", code="save.remote")
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "")
    if name.endswith(b"/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(name))
    return absolute_path(name)


def folder_of(path: Path, follow_symlinks: bool) -> bytes:
    """The folder in which a save to `path` makes the file."""
    name = local_path(path)
    return os.path.dirname(os.path.realpath(name) if follow_symlinks else name)
