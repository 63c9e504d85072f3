"""Renames files one after another, and undoes that if one of the steps fails."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from onnxmap import _core


class FileMoves:
    """Renames of files, and the folders that they change.

    Args:
        sync: whether the disk must have each step before the next one begins.
    """

    def __init__(self, *, sync: bool) -> None:
        self._sync = sync
        self._begun: list[tuple[str, str]] = []
        self._folders: set[str] = set()

    def rename(self, old: str, new: str, *, may_replace: bool = False) -> None:
        """Give a file another name in its file system.

        Raises:
            FileExistsError: the name is taken and not `may_replace`.
        """
        self._begun.append((old, new))  # first: a signal may come right after the rename
        if may_replace:
            os.rename(old, new)
        else:
            _rename_to_new(old, new)
        self._folders |= {os.path.dirname(old), os.path.dirname(new)}

    def rename_alone(self, old: str, new: str, *, may_replace: bool) -> None:
        """Rename one file, and wait for the disk. If that fails, the file has its old name again.

        A file that was replaced is gone, and then the new name stays.
        """
        was_there = os.path.lexists(new)
        self.rename(old, new, may_replace=may_replace)
        try:
            self.sync_folders()
        except BaseException:
            if not was_there:
                _rename_to_new(new, old)
            raise

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)
        self._folders.add(os.path.dirname(path))
        self.sync_folders()

    def could_remove(self, path: str) -> bool:
        """Remove a file that no longer matters, and return whether it is gone."""
        with suppress(OSError):
            self.remove(path)
        return not os.path.lexists(path)

    def sync_folders(self) -> None:
        """Wait until the disk has the new names."""
        for folder in self._folders if self._sync else ():
            _core.sync_folder(os.fsencode(folder))
        self._folders.clear()

    @contextmanager
    def undone_on_failure(self, made: Iterable[str], last: str) -> Iterator[None]:
        """If the block fails, give files their old names again, and remove those in `made`.

        The last step of the block is to remove the file `last`. Once that is gone, nothing is
        undone.
        """
        try:
            yield
        except BaseException:
            if not os.path.lexists(last):
                raise
            for old, new in reversed(self._begun):
                if os.path.lexists(new) and not os.path.lexists(old):
                    _rename_to_new(new, old)
            for path in made:
                with suppress(FileNotFoundError):
                    os.unlink(path)
            raise


def _rename_to_new(old: str, new: str) -> None:
    _core.rename_to_new(os.fsencode(old), os.fsencode(new))
