"""The models in the folder of a file, and the data files that they use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._options import Options
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

MODEL_SUFFIX = ".onnx"
_LEVELS_ABOVE = 3

FileId = tuple[int, int]


def file_id(path: str) -> FileId | None:
    """Return what tells a file from all others; None if there is none at the path."""
    return _id_of(path, follow_symlinks=True)


def is_model(path: str) -> bool:
    """Return whether a file can be read as a model."""
    try:
        _opened(path)
    except (OnnxMapError, OSError):
        return False
    return True


def external_paths(model: str) -> list[str]:
    """Return the paths that the external data of a model file name.

    Raises:
        OnnxMapError: the file is not a model.
        OSError: it cannot be read.
    """
    folder = os.path.dirname(os.fsencode(model))
    locations = _core.external_locations(_opened(model))
    return [os.fsdecode(os.path.join(folder, each)) for each in locations]


def _opened(model: str) -> _core.Document:
    name = os.fsencode(model)
    folder = os.path.dirname(name)
    # `load` would refuse a view of a file that has changed.
    return _core.load_file(name, "ModelProto", Options(check="lazy"), folder, folder)


@dataclass
class Neighbours:
    """Models, and the data files that they use.

    Attributes:
        users: by data file, or link to it, the path of a model that uses it.
        models: by file, the path of the model.
        unreadable: the path of a `*.onnx` file that cannot be read, so nobody knows what it uses.
    """

    users: dict[FileId, str] = field(default_factory=dict)
    models: dict[FileId, str] = field(default_factory=dict)
    unreadable: str | None = None

    def user_of(self, path: str) -> str | None:
        """Return the path of a model that is known to use this file, or this link, as data."""
        return self._found(self.users, path)

    def owner_of(self, path: str) -> str | None:
        """Return the path of a model that uses this file as data, or that is this file."""
        return self.user_of(path) or self._found(self.models, path)

    @staticmethod
    def _found(known: dict[FileId, str], path: str) -> str | None:
        here = _id_of(path, follow_symlinks=False)
        return None if here is None else known.get(here)


def neighbours(
    folders: Iterable[str], but: Collection[str], also: Iterable[str] = ()
) -> Neighbours:
    """Find the `*.onnx` files in the folders and in those above them, and what they use.

    Args:
        folders: the folders. A model in a folder above may use files in its subfolders, so three
            levels are searched.
        but: paths of models that do not count. Links to them do not count either; links under
            these paths are not followed.
        also: models that count whatever they are called.
    """
    found = Neighbours()
    searched = {os.path.realpath(folder) for folder in folders}
    left_out = {_real_name(path) for path in but}
    paths = [
        os.path.join(folder, name)
        for folder in sorted({above for folder in searched for above in _with_those_above(folder)})
        for name in _names_in(folder)
        if name.lower().endswith(MODEL_SUFFIX)
    ]
    for path in dict.fromkeys([*paths, *map(_real_name, also)]):
        if not left_out & {path, os.path.realpath(path)} and os.path.isfile(path):
            _add(found, path, counts=os.path.dirname(path) in searched)
    return found


def _with_those_above(folder: str) -> Iterator[str]:
    yield folder
    for _ in range(_LEVELS_ABOVE):
        folder = os.path.dirname(folder)
        yield folder


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _real_name(path: str) -> str:
    """The path without links, but for the last name."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _add(found: Neighbours, path: str, *, counts: bool) -> None:
    """Add a model; `counts`: also one that cannot be read, which may use any file."""
    try:
        used = external_paths(path)
    except (OnnxMapError, OSError):
        if counts:
            found.unreadable = path
        used = []
    for each in used:
        for follow in (True, False):
            if (known := _id_of(each, follow_symlinks=follow)) is not None:
                found.users.setdefault(known, path)
    if (known := file_id(path)) is not None:
        found.models.setdefault(known, path)


def _id_of(path: str, *, follow_symlinks: bool) -> FileId | None:
    try:
        state = os.stat(path, follow_symlinks=follow_symlinks)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino
