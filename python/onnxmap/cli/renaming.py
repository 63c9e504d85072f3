"""Renames files one after another, and undoes that if one of the steps fails."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from onnxmap import _core
from onnxmap.errors import UnsafePathError


class Place(NamedTuple):
    """A file beneath a folder. What changes its name follows no link in `location`."""

    folder: str
    location: str

    @property
    def path(self) -> str:
        """The path of the file."""
        return os.path.join(self.folder, self.location)

    def encoded(self) -> tuple[bytes, bytes]:
        """Return folder and location for the core."""
        return os.fsencode(self.folder), os.fsencode(self.location)


class FileMoves:
    """Renames of files, and the folders that they change.

    Args:
        sync: whether the disk must have each step before the next one begins.
    """

    def __init__(self, *, sync: bool) -> None:
        self._sync = sync
        self._begun: list[tuple[Place, Place]] = []
        self._folders: set[str] = set()

    def rename(self, old: Place, new: Place, *, may_replace: bool = False) -> None:
        """Give a file another name in its file system.

        Raises:
            FileExistsError: the name is taken and not `may_replace`.
        """
        self._begun.append((old, new))  # first: a signal may come right after the rename
        if may_replace:
            os.rename(old.path, new.path)
        else:
            _rename_to_new(old, new)
        self._folders |= {os.path.dirname(old.path), os.path.dirname(new.path)}

    def rename_alone(self, old: Place, new: Place, *, may_replace: bool) -> None:
        """Rename one file, and wait for the disk. If that fails, the file has its old name again.

        A file that was replaced is gone, and then the new name stays.
        """
        was_there = os.path.lexists(new.path)
        self.rename(old, new, may_replace=may_replace)
        try:
            self.sync_folders()
        except BaseException:
            if not was_there:
                _rename_to_new(new, old)
            raise

    def remove(self, file: Place) -> None:
        """Remove a file."""
        _core.remove_file(*file.encoded())
        self._folders.add(os.path.dirname(file.path))
        self.sync_folders()

    def could_remove(self, file: Place) -> bool:
        """Remove a file that no longer matters, and return whether it is gone."""
        with suppress(OSError, UnsafePathError):
            self.remove(file)
        return not os.path.lexists(file.path)

    def sync_folders(self) -> None:
        """Wait until the disk has the new names."""
        for folder in self._folders if self._sync else ():
            _core.sync_folder(os.fsencode(folder))
        self._folders.clear()

    @contextmanager
    def undone_on_failure(self, made: Iterable[Place], last: Place) -> Iterator[None]:
        """If the block fails, give files their old names again, and remove those in `made`.

        The last step of the block is to remove the file `last`. Once that is gone, nothing is
        undone.
        """
        try:
            yield
        except BaseException:
            if not os.path.lexists(last.path):
                raise
            for old, new in reversed(self._begun):
                if os.path.lexists(new.path) and not os.path.lexists(old.path):
                    _rename_to_new(new, old)
            for file in made:
                with suppress(FileNotFoundError):
                    _core.remove_file(*file.encoded())
            raise


@contextmanager
def folders_of(files: Iterable[Place], *, sync: bool) -> Iterator[None]:
    """Make the folders of files that the block writes. If it fails, remove the new folders.

    Args:
        files: where the files will be.
        sync: whether the disk must have the new folders before the block begins.
    """
    folders = _core.folders_beneath(sync)
    try:
        for file in files:
            folders.make(*file.encoded())
        yield
    except BaseException:
        folders.remove()
        raise
    folders.keep()


def _rename_to_new(old: Place, new: Place) -> None:
    _core.rename_to_new(*old.encoded(), *new.encoded())
