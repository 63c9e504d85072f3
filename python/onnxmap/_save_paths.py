"""Where a save may write: paths, and the names of data files beside them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._data_names import copied_locations, is_text
from onnxmap._model_files import external_paths, is_model
from onnxmap._neighbours import Neighbours, file_id, neighbours
from onnxmap._paths import absolute_path, is_url, without_file_scheme
from onnxmap.errors import OnnxMapError, SaveError, UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from onnxmap._neighbours import FileId
    from onnxmap._paths import Path

# Finds models that stay: `neighbours`, or what remembers its answers within one step of a save.
Finder = Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], Neighbours]

_LONGEST_NAME = 255  # bytes


def local_path(path: Path) -> bytes:
    name = without_file_scheme(os.fsencode(path))
    if is_url(name):
        raise SaveError("a model can be saved to a local path only", code="save.remote")
    if b"\0" in name:
        raise ValueError("embedded null byte in a path")
    if name.endswith(b"/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(name))
    return absolute_path(name)


def folder_of(path: Path, follow_symlinks: bool) -> bytes:
    """The folder in which a save to `path` makes the file."""
    name = local_path(path)
    return os.path.dirname(os.path.realpath(name) if follow_symlinks else name)


def is_root(document: _core.Document, folder: bytes) -> bool:
    """Whether the external locations of a model mean the same files in this folder."""
    root = document.external_root
    if not root:
        return True
    try:
        return os.path.samefile(root, folder)
    except OSError:  # a URL, or a folder that is gone
        return False


def viewed_name(document: _core.Document, path: bytes) -> bytes:
    """The name of the file that a model was loaded from, for a view of it at `path`."""
    loaded = document.absolute_path
    if document.io not in ("mmap", "read"):
        raise SaveError("only a model that was loaded from a file has a view", code="save.view")
    folder, base = os.path.split(loaded)
    if not os.path.samefile(folder, os.path.dirname(path)):
        raise SaveError("a view must be in the folder of the model that it shows", code="save.view")
    if any(entry.key.startswith(_core.VIEW_KEYS) for entry in document.proto.metadata_props):
        raise SaveError("the model is a view already", code="save.view")
    if os.path.exists(path) and os.path.samefile(loaded, path):
        raise SaveError("a view cannot replace the model that it shows", code="save.view")
    return base


def check_folder(path: bytes) -> None:
    """Refuse a model whose folder is missing. The save itself would name a data file."""
    if not os.path.exists(os.path.dirname(path)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))


def check_replaced(
    paths: Collection[bytes],
    data_paths: Iterable[bytes],
    documents: Iterable[_core.Document],
    data_files: Mapping[str, tuple[int, int]],
    overwrite: bool,
    find: Finder = neighbours,
) -> None:
    """Refuse to replace files that the new models need, or that models which stay would miss.

    These are the loaded models, and those in the folders of the replaced files. A file that cannot
    be read as a model does not count. A model may be replaced although views show it: they notice
    that.

    Args:
        paths: where the models will be written.
        data_paths: where their data files will be written.
        documents: the models.
        data_files: bytes, and bytes that the new models use, of the data files that were loaded.
        overwrite: whether names may be taken at all.
        find: finds the models that stay.
    """
    loaded = _loaded_paths(documents)
    for new in paths:
        for path, (_, used) in data_files.items():
            if used and _is_file(os.fsencode(path), new):
                raise _own_data(path, "values of its tensors are there")
    for new in data_paths:
        for model in loaded:
            if _is_file(model, new):
                raise _own_data(os.fsdecode(model), "the model was loaded from it")
    if not overwrite:
        return
    not_models = [
        path for path in paths if os.path.lexists(path) and not is_model(os.fsdecode(path))
    ]
    others = _others(find, [*not_models, *data_paths], paths, loaded)
    for model_name in map(os.fsdecode, not_models):
        if (user := others.user_of(model_name)) is not None:
            raise _own_data(model_name, f"{user!r} has values there")
    for data_name in map(os.fsdecode, data_paths):
        if (user := others.user_of(data_name)) is not None:
            advice = "or save all models of that file together"
            raise _own_data(data_name, f"{user!r} has values there", advice)
        if others.owner_of(data_name) is not None:
            raise _own_data(data_name, "that is a model")


def new_locations(locations: Mapping[int, bytes], path: bytes) -> dict[int, bytes]:
    """Return where the data files that a message names go beside a model at `path`.

    Whoever made the message chose the names. One stays if it is plainly that of a data file, and is
    free or belongs to a data file of the old model. Others are named after the new model.

    Raises:
        UnsafePathError: a location leads out of the folder.
    """
    if not locations:
        return {}
    folder, model = map(os.fsdecode, os.path.split(path))
    own = _ids_of_data(path)

    def is_free(name: str) -> bool:
        place = os.path.join(folder, name)
        return not os.path.lexists(place) or file_id(place) in own

    for each in locations.values():
        check_location(os.fsencode(folder), each)
    given = {position: os.fsdecode(each) for position, each in locations.items()}
    named = copied_locations(given.values(), folder, model, is_free)
    return {position: os.fsencode(named.get(each, each)) for position, each in given.items()}


def side_location(path: bytes, documents: Iterable[_core.Document], find: Finder) -> bytes:
    """The name of the side file of a model that will be written to `path`.

    It is free, or only the old model at `path` uses it, so that the file is replaced with its
    model.
    """
    folder, name = os.path.split(path)
    if not os.path.lexists(os.path.join(folder, name + _core.SIDE_END)):
        return name + _core.SIDE_END
    others = _others(find, [path], [path], _loaded_paths(documents))
    own = _ids_of_data(path)
    number = 1
    while True:
        location = name + (b"" if number == 1 else b".%d" % number) + _core.SIDE_END
        side = os.fsdecode(os.path.join(folder, location))
        is_own = file_id(side) in own and others.is_free(side)
        if is_own or not os.path.lexists(side):
            return location
        number += 1


def sides_no_longer_used(
    paths: Sequence[bytes],
    data_paths: Collection[bytes],
    documents: Collection[_core.Document],
    find: Finder,
    *,
    keeps: bool,
) -> list[bytes]:
    """The side files of models that will be replaced, if no model uses them after the save.

    Args:
        paths: where the models will be written.
        data_paths: where their data files will be written.
        documents: the models.
        find: finds the models that stay.
        keeps: whether the new models refer to data files of the loaded ones.
    """
    sides = [
        side
        for path in paths
        if not os.path.islink(path)
        for side in _sides_of(path)
        if side not in data_paths
    ]
    if not sides:
        return []
    folder = os.path.dirname(paths[0])
    kept = {
        file_id(os.fsdecode(os.path.join(folder, location)))
        for document in documents
        if keeps
        for location in _core.external_locations(document)
    }
    others = _others(find, paths, paths, _loaded_paths(documents))
    return [
        side
        for side in sides
        if others.is_free(os.fsdecode(side)) and file_id(os.fsdecode(side)) not in kept
    ]


def _sides_of(path: bytes) -> list[bytes]:
    """The side files of the model at `path`, which are regular files that it uses."""
    if not os.path.lexists(path):
        return []
    folder, name = os.path.split(path)
    try:
        there = [
            os.path.join(folder, each)
            for each in os.listdir(folder)
            if each.endswith(_core.SIDE_END) and each.startswith(name)
        ]
    except OSError:
        return []
    pattern = re.compile(re.escape(path) + rb"(\.[0-9]+)?" + re.escape(_core.SIDE_END))
    there = [each for each in there if pattern.fullmatch(each) and not os.path.islink(each)]
    own = _ids_of_data(path) if there else set()
    return [each for each in there if file_id(os.fsdecode(each)) in own]


def may_lose_data(document: _core.Document, paths: Iterable[bytes], folder: bytes) -> bool:
    """Whether new models at these paths may replace a model, and with it its data files.

    A model from a buffer, such as a text, does not know whether it had one of the paths.
    """
    if document.io == "buffer":
        return is_root(document, folder)
    return any(_is_file(loaded, new) for loaded in _loaded_paths([document]) for new in paths)


def files_that_stay(
    data_files: Mapping[str, tuple[int, int]], paths: Collection[bytes]
) -> dict[str, tuple[int, int]]:
    """The data files that new files at these paths do not replace."""
    return {
        path: sizes
        for path, sizes in data_files.items()
        if not any(_is_file(os.fsencode(path), new) for new in paths)
    }


def plain_path(path: str) -> str:
    """The path of a file without `.` and `..`, unless links make that another file."""
    plain = os.path.normpath(path)
    with suppress(OSError):
        if plain != path and os.path.samefile(plain, path):
            return plain
    return path


def check_reachable(
    folder: bytes, documents: Iterable[_core.Document], data_files: Mapping[str, tuple[int, int]]
) -> None:
    """Refuse new models whose data files could be reached only because the loaded one was a link.

    A model in a cache of Hugging Face is a link to a folder of other names, and so are its data.
    """
    loaded = _loaded_paths(documents)
    of_links = {os.path.dirname(os.path.realpath(each)) for each in loaded if os.path.islink(each)}
    for path, (_, used) in data_files.items():
        target = os.path.realpath(os.fsencode(path))
        if (
            used
            and not _is_in(target, os.path.realpath(folder))
            and any(_is_in(target, root) for root in of_links)
        ):
            raise SaveError(
                f"{path!r} is a link out of the folder, and the new model, which is no link, could "
                'not follow it; pass external_data=False or external_data="weights.data"',
                code="save.link",
            )


def _is_in(path: bytes, folder: bytes) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _loaded_paths(documents: Iterable[_core.Document]) -> set[bytes]:
    return {each.absolute_path for each in documents if each.io in ("mmap", "read")}


def _others(
    find: Finder, replaced: Iterable[bytes], models: Iterable[bytes], loaded: Iterable[bytes]
) -> Neighbours:
    """The models that stay, of the folders in which files are replaced, and among the loaded ones.

    Args:
        find: what finds them.
        replaced: paths that will be written; those that are free do not count.
        models: the paths of the new models.
        loaded: the paths of the loaded models.
    """
    taken = [os.fsdecode(path) for path in replaced if os.path.lexists(path)]
    if not taken:
        return Neighbours()
    new = tuple(os.fsdecode(path) for path in models)
    folders = {os.path.dirname(path) for path in [*taken, *new]}
    return find(tuple(sorted(folders)), new, tuple(sorted(map(os.fsdecode, loaded))))


def _ids_of_data(model: bytes) -> set[FileId]:
    """The data files of a model that may be there."""
    try:
        found = {file_id(path) for path in external_paths(os.fsdecode(model))}
    except (OnnxMapError, OSError, ImportError):
        return set()
    return {each for each in found if each is not None}


def _own_data(path: str, reason: str, advice: str = "") -> SaveError:
    advice = f", {advice}" if advice else ""
    return SaveError(
        f"the save would replace {path!r}, but {reason}; choose another name{advice}",
        code="save.own_data",
    )


def _is_file(path: bytes, new: bytes) -> bool:
    """Whether a new file at `new` would replace this file, or the link to it."""
    try:
        there = os.lstat(new)
        return os.path.samestat(there, os.stat(path)) or os.path.samestat(there, os.lstat(path))
    except OSError:  # a free name; or the save fails for the same reason
        return False


def check_text(location: bytes) -> None:
    """Refuse the name of a data file that other readers could not read, or would understand."""
    name = os.fsdecode(location)
    if not is_text(name):
        raise SaveError(
            f"the name of the data file {name!r} is not UTF-8 or has a backslash, and other "
            "programs would not find it; choose another name",
            code="save.data_name",
        )


def check_location(folder: bytes, location: bytes) -> None:
    """Refuse the name of a data file that leads out of the folder by its text.

    The save itself follows no link in it.
    """
    if any(len(part) > _LONGEST_NAME for part in location.split(b"/")):
        path = os.fsdecode(os.path.join(folder, location))
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
    if not _core.is_safe_location(location):
        raise UnsafePathError(
            f"the data file {os.fsdecode(location)!r} would be out of the folder of the model",
            code="ext.unsafe_path",
            location=os.fsdecode(location),
        )
