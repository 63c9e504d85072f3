"""The models in the folder of a file, and the data files that they use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._write.text_files import locations_in_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def file_id(path: str) -> tuple[int, int] | None:
    """Return what tells a file from all others; None if there is none at the path."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


def neighbours(
    folders: Iterable[str], but: Collection[str], also: Iterable[str] = ()
) -> _core.Neighbours:
    """Find the models in the folders, the `*.onnx` files in those above them, and what they use.

    Args:
        folders: the folders. A model in a folder above may use files in its subfolders, so three
            levels are searched.
        but: paths of models that do not count. Links to them do not count either; links under
            these paths are not followed.
        also: models that count whatever they are called.
    """
    searched, left_out, more = (list(map(os.fsencode, each)) for each in (folders, but, also))
    return _core.find_neighbours(searched, left_out, more, locations_in_text)
