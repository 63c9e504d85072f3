"""The models in the folder of a file, and the data files that they use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap._model_files import external_paths, is_likely_model, names_of_models
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_LEVELS_ABOVE = 3

FileId = tuple[int, int]


def file_id(path: str) -> FileId | None:
    """Return what tells a file from all others; None if there is none at the path."""
    return _id_of(path, follow_symlinks=True)


@dataclass
class Neighbours:
    """Models, and the data files that they use.

    Attributes:
        users: by data file, or link to it, the path of a model that uses it.
        models: by file, the path of the model.
        unreadable: the path of a likely model that cannot be read, so nobody knows what it uses. Of
            several, the one that was changed last.
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

    def is_free(self, side: str) -> bool:
        """Return whether no other model may use this side file, which a save has written.

        A model that cannot be read may do so if it is newer.
        """
        if self.owner_of(side) is not None:
            return False
        if self.unreadable is None:
            return True
        try:
            return os.stat(self.unreadable).st_ctime_ns < os.stat(side).st_mtime_ns
        except OSError:
            return False

    @staticmethod
    def _found(known: dict[FileId, str], path: str) -> str | None:
        here = _id_of(path, follow_symlinks=False)
        return None if here is None else known.get(here)


def neighbours(
    folders: Iterable[str], but: Collection[str], also: Iterable[str] = ()
) -> Neighbours:
    """Find the models in the folders, the `*.onnx` files in those above them, and what they use.

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
        for name in names_of_models(folder, all_names=folder in searched)
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


def _real_name(path: str) -> str:
    """The path without links, but for the last name."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _add(found: Neighbours, path: str, *, counts: bool) -> None:
    """Add a model; `counts`: also one that cannot be read, which may use any file."""
    try:
        used = external_paths(path)
    except FileNotFoundError:
        return
    except (OnnxMapError, OSError, ImportError):
        if not is_likely_model(path):
            return
        if counts and _changed_at(path) >= _changed_at(found.unreadable):
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


def _changed_at(path: str | None) -> int:
    try:
        return -1 if path is None else os.stat(path).st_ctime_ns
    except OSError:
        return 0
