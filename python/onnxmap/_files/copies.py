"""Copying a model with its data files: their new names, and what the copy may replace."""

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from onnxmap import _core
from onnxmap._base.file_forms import check_not_weights
from onnxmap._base.paths import absolute_path, is_url, without_file_scheme
from onnxmap._files.load import load
from onnxmap._write.documents import Written, write_documents
from onnxmap._write.neighbours import file_id, neighbours
from onnxmap._write.options import MOST_FOR_PROTOBUF, SaveOptions, SaveReport
from onnxmap._write.paths import local_path
from onnxmap._write.text_files import locations_in_text
from onnxmap.errors import OnnxMapError, SaveError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from typing_extensions import Unpack

    from onnxmap._base.options import LoadOptions
    from onnxmap._base.paths import Path
    from onnxmap._files.model import Model
    from onnxmap._show.progress import ProgressArgument


_MODEL_SUFFIX = ".onnx"


@dataclass(frozen=True)
class CopyReport(SaveReport):
    """What `copy_model` did. Sizes are in bytes.

    Attributes:
        copies: the location of each new data file, by that of the old one.
    """

    copies: dict[str, str] = field(default_factory=dict)


def copy_model(
    path: Path,
    new_path: Path,
    *,
    overwrite: bool = False,
    replace_read_only: bool = False,
    sync: bool = True,
    progress: ProgressArgument = False,
    **options: Unpack[LoadOptions],
) -> CopyReport:
    """Copy a model file with its data files, so that the two models share nothing.

    In another directory, data files keep their names if these are plainly names of data files;
    others are named after the new model. Beside the old model, and if other models use the same
    data file, the copy gets one of its own: a copy of `a.onnx` to `b.onnx` copies `a.onnx.data` to
    `b.onnx.data`. Only bytes that tensors use are copied, and checksums are those of the copies.
    Files of EPContext nodes count as data files, and are copied as a whole.
    After an error or a crash, files are what they are after one of `save`.

    Args:
        path: the model, a file or a URL. A symbolic link is followed.
        new_path: a directory, or the path of the new file. Its extension says its form, as for
            `save`.
        overwrite: replace the model at `new_path`, and data files that only it uses. False: any
            name that is taken is an error.
        replace_read_only: as for `save`.
        sync: as for `save`.
        progress: as for `save`.
        **options: the arguments of `load`, such as `external_root` and `link_policy`.

    Raises:
        FileExistsError: a name is taken, and not `overwrite`.
        SaveError: both paths are the same file (`save.same_file`), or another model has values in
            the file that would be replaced (`save.own_data`).
        The errors of `load` and `save`.

    Example:
        >>> onnxmap.copy_model("model.onnx", "backup/").bytes_copied  # doctest: +SKIP
        4294967296
    """
    how = SaveOptions(
        overwrite=overwrite, replace_read_only=replace_read_only, sync=sync, progress=progress
    )
    destination = Destination(path, new_path, how)
    with load(path, **options) as model:
        files = _core.file_paths(model._open())
        copies = destination.new_locations(files, destination.neighbours(files))
        destination.check_free(copies.values())
        report = destination.save(model, copies)
    return CopyReport(**vars(report), copies=copies)


class Destination:
    """Where a model goes, and its data files beside it.

    Args:
        path: the model.
        new_path: a directory, or the path of the new file.
        how: the options of the save.
        may_stay: whether a data file may be that of the new model, too, in the same directory.

    Attributes:
        old: the absolute path of the model; None if that is a URL.
        path: the absolute path of the new file.
        folder: its directory.
    """

    def __init__(
        self, path: Path, new_path: Path, how: SaveOptions, may_stay: bool = False
    ) -> None:
        source, new = without_file_scheme(os.fsencode(path)), os.fsdecode(new_path)
        self.old = None if is_url(source) else os.fsdecode(absolute_path(source))
        self.path = os.fsdecode(local_path(new.rstrip("/") or new[:1]))
        if os.path.isdir(self.path):
            old = self.old or urlsplit(os.fsdecode(source)).path
            self.path = os.path.join(self.path, posixpath.basename(old))
        elif new.endswith("/"):
            raise SaveError(f"{new!r} is not a folder", code="save.no_folder")
        check_not_weights(os.fsencode(self.path))
        self.folder, self._name = os.path.split(self.path)
        self._how, self._may_stay = how, may_stay
        # Models that count as neighbours, whatever they are called.
        self._old = [] if self.old is None else [self.old]
        there = [each for each in (self.path, *self._old) if os.path.exists(each)]
        if len(there) == 2 and os.path.samefile(*there):
            text = f"{os.fsdecode(path)} and {new} are the same file"
            raise SaveError(text, code="save.same_file")
        self._check_taken([self.path])
        if os.path.isdir(self.folder):
            _core.check_output(os.fsencode(self.path), how.replace_read_only)

    def is_same_folder(self) -> bool:
        """Return whether the model stays in its directory."""
        return any(os.path.samefile(self.folder, os.path.dirname(old)) for old in self._old)

    def neighbours(self, files: Mapping[str, str | None]) -> _core.Neighbours:
        """Return the models beside the old one, and beside its data files."""
        folders = {os.path.dirname(file) for file in (*self._old, *files.values()) if file}
        return neighbours(folders, [*self._old, *map(os.path.realpath, self._old)])

    def new_locations(
        self, files: Mapping[str, str | None], others: _core.Neighbours
    ) -> dict[str, str]:
        """Return the new location of each file. Spellings of one location get the same one.

        A file that stays for others needs a name of its own. If it is not named after the model,
        it gets the stem of the model as a prefix.

        Args:
            files: see `_core.file_paths`.
            others: the models beside the old one.
        """
        keys: dict[str, tuple[str, object]] = {}
        new: dict[tuple[str, object], str] = {}
        is_same_folder = self.is_same_folder()
        for location, file in files.items():
            plain = posixpath.normpath(location)
            # A folder in the location may be a link.
            key = keys[location] = plain, file and file_id(file)
            if key in new:
                continue
            is_own = is_same_folder and not self._may_stay
            if not is_same_folder and file is not None:
                is_model = location.lower().endswith(_MODEL_SUFFIX)
                is_own = is_model or others.owner_of(file) is not None
            names = (each for each in self._names(plain, is_own) if each not in new.values())
            new[key] = next(each for each in names if self._is_free(each, plain))
        return {location: new[key] for location, key in keys.items()}

    def _names(self, location: str, is_own: bool) -> Iterator[str]:
        """The names that a data file may get, the best first.

        If it is named after the old model, it is named after the new one: `m.onnx.data` and
        `m.weights.data` become `n.onnx.data` and `n.weights.data`.
        """
        folder, name = posixpath.split(location)
        old = os.path.basename(self.old or self.path)
        if is_own and name.lower().endswith(_MODEL_SUFFIX):
            name = f"{old}.data"  # of a view, whose data file is a model itself
        old_stem, stem = os.path.splitext(old)[0], os.path.splitext(self._name)[0]
        begins = [(f"{old}.", f"{self._name}."), *((old_stem + c, stem + c) for c in "._-")]
        after = [new + name[len(was) :] for was, new in begins if name.startswith(was)]
        kept = after[:1] or [name] * (not is_own)
        for each in (*kept, f"{stem}.{name.lstrip('.')}"):
            new = posixpath.join(folder, each)
            is_plain = _core.is_plain_location(os.fsencode(new), os.fsencode(self.folder))
            if is_plain or (new == location and self.is_same_folder()):
                yield new
        names = os.fsencode(self._name), os.fsencode(name)
        yield from (_core.data_name_after(*names, i) for i in count())

    def _is_free(self, location: str, old_location: str) -> bool:
        """Whether a data file may get a location. `check_free` refuses names that are taken."""
        if location == old_location and self.is_same_folder():
            return self._may_stay
        path = os.path.join(self.folder, location)
        return not self._how.overwrite or not os.path.lexists(path) or self._is_replaced(path)

    def _is_replaced(self, path: str) -> bool:
        """Whether a file is a data file of the model that is replaced, and nobody else's."""
        try:
            own = set(map(file_id, _core.external_paths(os.fsencode(self.path), locations_in_text)))
        except (OnnxMapError, OSError, ImportError):  # there is no such model
            return False
        others = neighbours([self.folder, os.path.dirname(path)], [self.path], self._old)
        is_of_others = others.owner_of(path) is not None or others.unreadable is not None
        return not os.path.islink(path) and file_id(path) in own and not is_of_others

    def check_free(self, locations: Collection[str]) -> None:
        """Refuse names that are taken, and locations out of the directory, of new data files."""
        for location in locations:
            _core.check_data_location(os.fsencode(self.folder), os.fsencode(location))
        self._check_taken(os.path.join(self.folder, location) for location in locations)
        if self._how.overwrite and os.path.lexists(self.path):
            user = neighbours([self.folder], [self.path], self._old).user_of(self.path)
            if user is not None:
                raise SaveError(f"{self.path} has values of {user}", code="save.own_data")

    def _check_taken(self, paths: Iterable[str]) -> None:
        for path in () if self._how.overwrite else paths:
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def save(self, model: Model, copies: Mapping[str, str]) -> SaveReport:
        """Save the model here, with copies of data files: the new location of each by the old.

        Of a copied file, only ranges that tensors use are copied. Other locations stay as they are,
        readable or not. The old checksums do not fit the copies, which get new ones.
        """
        document = model._open()
        entries = (entry for _, tensor in model.tensors() for entry in tensor.proto.external_data)
        options = replace(
            self._how,
            size_threshold_bytes=0,
            checksum=any(entry.key == "checksum" for entry in entries),
            allow_over_2gib=document.nbytes > MOST_FOR_PROTOBUF,
        )
        encoded = {os.fsencode(old): os.fsencode(new) for old, new in copies.items()}
        written = Written(document.proto, model._form, must_exist="none")
        return write_documents({self.path: written}, options, encoded)
