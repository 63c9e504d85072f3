"""Moving a model with its data files: what is renamed, in which order, and how that is undone."""

from __future__ import annotations

import os
import posixpath
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._files.copies import Destination
from onnxmap._files.load import load
from onnxmap._write.options import SaveOptions, SaveReport
from onnxmap.errors import SaveError, UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Unpack

    from onnxmap._base.options import LoadOptions
    from onnxmap._base.paths import Path
    from onnxmap._files.model import Model
    from onnxmap._show.progress import ProgressArgument

    # A directory, and the location of a file in it. What changes its name follows no link there.
    File = tuple[bytes, bytes]


@dataclass(frozen=True)
class MoveReport:
    """What `move_model` did. Files have absolute paths.

    Attributes:
        moved: the new path of each file that was moved, by its old one: the model, then data files.
        copied: the new path of each data file that was copied and is still there, by its old one.
        stays: why a data file stays where it is, by its path. The reason is empty if the
            file need not get another name.
        left_over: old files that could not be removed.
        bytes_copied: bytes that were copied from file to file.
    """

    moved: dict[str, str] = field(default_factory=dict)
    copied: dict[str, str] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)
    bytes_copied: int = 0


def move_model(
    path: Path,
    new_path: Path,
    *,
    overwrite: bool = False,
    replace_read_only: bool = False,
    sync: bool = True,
    progress: ProgressArgument = False,
    **options: Unpack[LoadOptions],
) -> MoveReport:
    """Move or rename a model file with its data files.

    Data files named after the model get the new name: `m.onnx.data` becomes `n.onnx.data`. Others
    keep their names; in another directory, only if these are plainly names of data files. In the
    same file system data files are renamed, otherwise copied and removed. A data file that another
    model uses stays; another directory gets a copy of it.

    If this raises an error, the files are where they were, unless `new_path` was replaced. The new
    model is complete before the first data file is renamed, and the old model goes last: a crash
    leaves one of the two with its data if there is one data file. With several, each is complete
    under its old or its new name.

    Args:
        path: the model, a local file that is not a symbolic link.
        new_path: as for `copy_model`. A model whose data files stay, or that has none, is only
            renamed, and keeps its form.
        overwrite: as for `copy_model`.
        replace_read_only: as for `save`.
        sync: wait until the disk has each step before the next one begins.
        progress: as for `save`.
        **options: the arguments of `load`, such as `external_root` and `link_policy`.

    Raises:
        FileExistsError: a name is taken, and not `overwrite`.
        SaveError: `path` is a URL (`save.not_local`) or a symbolic link (`save.link`); another
            model is a view of it (`save.own_data`); or for a reason of `copy_model`.
        The errors of `load` and `save`.

    Example:
        >>> onnxmap.move_model("model.onnx", "final.onnx").moved  # doctest: +SKIP
        {'/m/model.onnx': '/m/final.onnx', '/m/model.data': '/m/final.data'}
    """
    how = SaveOptions(
        overwrite=overwrite, replace_read_only=replace_read_only, sync=sync, progress=progress
    )
    destination = Destination(path, new_path, how, may_stay=True)
    if destination.old is None:
        raise SaveError("only a local file can be moved", code="save.not_local")
    if os.path.islink(destination.old):
        message = f"{os.fsdecode(path)} is a symbolic link; move the file that it leads to"
        raise SaveError(message, code="save.link")
    with load(destination.old, **options) as model:
        return _Move(destination, destination.old, model, how).carry_out()


class _Move:
    """What happens to the data files, by location: the new location, or why a file stays."""

    def __init__(self, destination: Destination, old: str, model: Model, how: SaveOptions) -> None:
        self._destination, self._old, self._model, self._how = destination, old, model, how
        self._folder = os.path.dirname(old)
        self._moves: dict[str, str] = {}
        self._copies: dict[str, str] = {}
        self._stays: dict[str, str] = {}
        files = _core.file_paths(model._open())
        self._paths = {each: path for each, path in files.items() if path is not None}
        others = destination.neighbours(files)
        if (user := others.user_of(old)) is not None:
            message = f"{user} is a view of {old}, and would lose its weights"
            raise SaveError(message, code="save.own_data")
        is_same_folder = destination.is_same_folder()
        for location, new in destination.new_locations(files, others).items():
            why = self._why_it_stays(location, others)
            may_stay = is_same_folder and (why or new == posixpath.normpath(location))
            if why or may_stay:
                self._stays[location] = why
            if not may_stay:
                can_rename = not why and self._can_rename(self._paths[location], new)
                (self._moves if can_rename else self._copies)[location] = new
        destination.check_free([*self._moves.values(), *self._copies.values()])

    def _why_it_stays(self, location: str, others: _core.Neighbours) -> str:
        """Why a data file must stay where it is; empty if it may be moved."""
        path = self._paths.get(location)
        if path is None:
            return "it cannot be opened"
        there = os.path.join(os.path.realpath(self._folder), posixpath.normpath(location))
        if os.path.realpath(path) != there:
            return "it is a symbolic link, behind one, or in another folder"
        if (user := others.owner_of(path)) is not None:
            return f"{os.path.basename(user)} uses it"
        unreadable = others.unreadable
        return "" if unreadable is None else f"{os.path.basename(unreadable)} may use it"

    def _can_rename(self, path: str, new: str) -> bool:
        """Whether a new location is in the same file system, and nothing is replaced there."""
        names = self._destination.path, os.path.join(self._destination.folder, new)
        is_taken = any(map(os.path.lexists, names))
        return not is_taken and _share_file_system(path, self._destination.folder)

    def carry_out(self) -> MoveReport:
        """Move the files."""
        destination, report = self._destination, SaveReport()
        old, new = (os.path.split(os.fsencode(path)) for path in (self._old, destination.path))
        was_there = os.path.lexists(destination.path)
        # Several spellings of one location have one new location.
        renamed = {(new[0], os.fsencode(to)): self._at(at) for at, to in self._moves.items()}
        copied = {(new[0], os.fsencode(to)): at for at, to in self._copies.items()}
        with ExitStack() as undo:
            if renamed or copied or not _share_file_system(self._old, destination.folder):
                report = self._saved(undo, [*renamed, *copied])
                for file in () if was_there else (*copied, new):
                    undo.callback(self._could_remove, file)
                try:
                    self._rename(renamed, undo)
                    _core.remove_file(*old, self._how.sync)
                except BaseException:
                    if not os.path.lexists(self._old):  # the new model is the only one
                        undo.pop_all()
                    raise
            elif was_there:
                _core.rename_file(*old, *new, self._how.sync, True, self._how.replace_read_only)
            else:
                self._rename({new: old}, undo)
            undo.pop_all()
        moved, kept = {self._old: destination.path}, dict[str, str]()
        moved |= {_path(at): _path(to) for to, at in renamed.items()}
        left_over = list(report.left_over)
        for to, at in copied.items():
            is_left = at not in self._stays and not self._could_remove(self._at(at))
            left_over += [_path(self._at(at))] * is_left
            (kept if is_left or at in self._stays else moved)[self._paths.get(at, at)] = _path(to)
        stays = {self._paths[at]: why for at, why in self._stays.items() if at in self._paths}
        return MoveReport(moved, kept, stays, left_over, report.bytes_copied)

    def _saved(self, undo: ExitStack, data_files: Iterable[File]) -> SaveReport:
        """Save the new model, which refers to the data files under their new names."""
        folders = _core.folders_beneath(self._how.sync)
        undo.callback(folders.remove)
        for file in data_files:
            folders.make(*file)
        names = {os.fsencode(at): os.fsencode(to) for at, to in self._moves.items()}
        _core.rename_locations(self._model._open(), names)
        return self._destination.save(self._model, self._copies)

    def _at(self, location: str) -> File:
        return os.fsencode(self._folder), os.fsencode(location)

    def _rename(self, files: Mapping[File, File], undo: ExitStack) -> None:
        """Rename files: the old name of each by the new one."""
        for new, old in files.items():
            undo.callback(_rename_back, new, old)  # first: a signal may come after the rename
            _core.rename_file(*old, *new, self._how.sync)

    def _could_remove(self, file: File) -> bool:
        """Remove a file that no longer matters, and return whether it is gone."""
        with suppress(OSError, UnsafePathError):
            _core.remove_file(*file, self._how.sync)
        return not os.path.lexists(_path(file))


def _path(file: File) -> str:
    return os.fsdecode(os.path.join(*file))


def _rename_back(new: File, old: File) -> None:
    if os.path.lexists(_path(new)) and not os.path.lexists(_path(old)):
        _core.rename_file(*new, *old, sync=False)


def _share_file_system(path: str, other: str) -> bool:
    return os.stat(path).st_dev == os.stat(other).st_dev
