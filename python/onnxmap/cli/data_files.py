"""The data files of a model that is copied or moved, and their names."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from onnxmap._data_names import names_after
from onnxmap._model_files import MODEL_SUFFIX
from onnxmap._neighbours import FileId, file_id
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import onnxmap

# What stands between the stem of a model's name and the rest of a data file's.
_SEPARATORS = "._-"


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


def new_locations(
    files: Mapping[str, str | None],
    old_model: str,
    new_model: str,
    own: Collection[str],
    may_have: Callable[[str, str], bool],
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
        may_have: whether a data file may get a location, given that and its old one. If not, the
            file is named after the new model.
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
        paths = (
            posixpath.join(folder, made)
            for made in _names(name, old_model, new_model, is_own=location in own)
        )
        path = next(
            each
            for each in chain(paths, names_after(new_model, name))
            if each not in taken and may_have(each, plain)
        )
        taken.add(path)
        new[location] = path
    return new


def _names(name: str, old_model: str, new_model: str, *, is_own: bool) -> Iterator[str]:
    """The new names of a data file that keeps a part of its own, the best first."""
    old_stem, new_stem = _stem(old_model), _stem(new_model)
    if name.startswith(f"{old_model}."):
        yield new_model + name[len(old_model) :]
    elif name.startswith(old_stem) and name[len(old_stem) :][:1] in tuple(_SEPARATORS):
        yield new_stem + name[len(old_stem) :]
    elif not is_own:
        yield name
    yield f"{new_stem}.{name.lstrip('.')}"


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def renamed(model: onnxmap.Model, locations: Mapping[str, str]) -> None:
    """Write new locations into the tensors of a model."""
    for _, tensor in model.tensors():
        for entry in tensor.proto.external_data:
            if entry.key == "location" and locations.get(entry.value, entry.value) != entry.value:
                entry.value = locations[entry.value]
