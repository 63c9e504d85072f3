"""The data files of a model that is copied or moved: their names, and who else uses them."""

from __future__ import annotations

import mmap
import os
import posixpath
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap

MODEL_SUFFIX = ".onnx"
# What stands between the stem of a model's name and the rest of a data file's.
_SEPARATORS = "._-"

FileId = tuple[int, int]


def data_files(model: onnxmap.Model) -> dict[str, str | None]:
    """Return the path of each data file by its location; None if no local file can be opened."""
    files: dict[str, str | None] = {}
    for _, tensor in model.tensors():
        try:
            place = tensor.external
        except OnnxMapError:  # reading the tensor raises the error
            continue
        if place is None:
            continue
        if files.get(place.location) is None:
            try:
                path = tensor.file
            except (OnnxMapError, OSError):
                path = None
            is_there = path is not None and os.path.isfile(path)
            files[place.location] = path if is_there else None
    return files


def has_checksums(model: onnxmap.Model) -> bool:
    """Return whether a tensor of a model declares the SHA-1 of its data file."""
    return any(
        entry.key == "checksum"
        for _, tensor in model.tensors()
        for entry in tensor.proto.external_data
    )


def file_id(path: str) -> FileId | None:
    """Return what tells a file from all others; None if there is none at the path."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


@dataclass
class Neighbours:
    """The other models in some folders, and the files that they use.

    Attributes:
        users: by file, the path of a model that uses it. Each model uses its own file.
        unreadable: the path of a model that cannot be read, so nobody knows what it uses.
    """

    users: dict[FileId, str] = field(default_factory=dict)
    unreadable: str | None = None

    def is_used(self, path: str) -> bool:
        """Return whether a model is known to use the file."""
        return self.known_user_of(path) is not None

    def known_user_of(self, path: str) -> str | None:
        """Return the path of a model that is known to use the file."""
        known = file_id(path)
        return None if known is None else self.users.get(known)

    def user_of(self, path: str) -> str | None:
        """Return the path of a model that uses the file, or may use it."""
        known = file_id(path)
        if known is None:
            return None
        return self.users.get(known, self.unreadable)


def neighbours(folders: Iterable[str], but: Collection[str]) -> Neighbours:
    """Find the `*.onnx` files in the folders, and what they use.

    Args:
        folders: the folders.
        but: paths of models that do not count.
    """
    found = Neighbours()
    left_out = {file_id(path) for path in but}
    for folder in {os.path.realpath(folder) for folder in folders}:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            is_model = name.lower().endswith(MODEL_SUFFIX) and os.path.isfile(path)
            if is_model and file_id(path) not in left_out:
                _add(found, path)
    return found


def _add(found: Neighbours, path: str) -> None:
    import onnxmap

    used = [path]
    try:
        # `load` would refuse a view of a file that has changed.
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used += onnxmap.loads(
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ),
                external_root=os.path.dirname(path),
                link_policy="trusted",
                allow_hardlinks=True,
                check="lazy",
            ).external_files
    except (OnnxMapError, OSError, ValueError):
        found.unreadable = path
    for each in used:
        if (known := file_id(each)) is not None:
            found.users.setdefault(known, path)


def new_locations(
    files: Mapping[str, str | None], old_model: str, new_model: str, own: Collection[str]
) -> dict[str, str]:
    """Return the new location of each data file of a model that gets a new name.

    A file that is named after the model is named after the new one: `m.onnx.data` and
    `m.weights.data` become `n.onnx.data` and `n.weights.data`. Others keep their names.

    Args:
        files: the old locations, and the paths of the files; see `data_files`. Spellings of one
            location get the same new one.
        old_model: the name of the model's file.
        new_model: its new name.
        own: locations of files that need a name of their own. If they are not named after the
            model, they get its stem as a prefix.
    """
    taken: set[str] = set()
    new: dict[str, str] = {}
    spelled: dict[tuple[str, FileId | None], str] = {}
    for location, old_path in files.items():
        plain = posixpath.normpath(location)
        # A folder in the location may be a link.
        first = spelled.setdefault((plain, file_id(old_path) if old_path else None), location)
        if first != location:
            new[location] = new[first]
            continue
        folder, name = posixpath.split(plain)
        if name.lower().endswith(MODEL_SUFFIX) and location in own:
            name = f"{old_model}.data"  # of a view, whose data file is a model itself
        for made in _names(name, old_model, new_model, is_own=location in own):
            path = posixpath.join(folder, made)
            if path not in taken:
                break
        taken.add(path)
        new[location] = path
    return new


def _names(name: str, old_model: str, new_model: str, *, is_own: bool) -> Iterable[str]:
    """The new names of a data file, the best first."""
    old_stem, new_stem = _stem(old_model), _stem(new_model)
    if name.startswith(f"{old_model}."):
        yield new_model + name[len(old_model) :]
    elif name.startswith(old_stem) and name[len(old_stem) :][:1] in tuple(_SEPARATORS):
        yield new_stem + name[len(old_stem) :]
    elif not is_own:
        yield name
    yield f"{new_stem}.{name}"
    number = 2
    while True:
        yield f"{new_stem}.{number}.{name}"
        number += 1


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def renamed(model: onnxmap.Model, locations: Mapping[str, str]) -> None:
    """Write new locations into the tensors of a model."""
    for _, tensor in model.tensors():
        for entry in tensor.proto.external_data:
            if entry.key == "location" and locations.get(entry.value, entry.value) != entry.value:
                entry.value = locations[entry.value]
