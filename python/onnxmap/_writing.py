"""Writes documents to files, by plans of the core."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from onnxmap import _core
from onnxmap._data_names import copied_locations
from onnxmap._file_forms import BINARY, form_of
from onnxmap._neighbours import neighbours
from onnxmap._own_streams import own_stream
from onnxmap._save_options import SaveOptions, SaveReport
from onnxmap._save_paths import (
    check_folder,
    check_location,
    check_reachable,
    check_replaced,
    check_text,
    files_that_stay,
    is_root,
    local_path,
    may_lose_data,
    new_locations,
    plain_path,
    side_location,
    sides_no_longer_used,
    viewed_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, Literal

    from onnxmap._file_forms import FileForm
    from onnxmap._paths import Path
    from onnxmap._progress import ProgressArgument
    from onnxmap._save_paths import Finder

V = TypeVar("V")


@dataclass(frozen=True)
class Written:
    """A model to be written."""

    document: _core.Document
    form: FileForm = BINARY
    """Of the file that the document was loaded from."""
    locations: dict[int, bytes] = field(default_factory=dict)
    """The data files for values that are in the document, by the positions of the tensors."""
    needed: Literal["all", "placed", "none"] = "placed"
    """Which external values that stay must be there: by default, those that an edit placed."""


def write_document(model: Written, path: Path | BinaryIO, options: SaveOptions) -> SaveReport:
    """Write one model to a file, or in order to a file object."""
    if hasattr(path, "write"):
        options.check()
        return _write_to(model, path, options)
    with own_stream(path) as stream:
        if stream is not None:
            options.check()
            return _write_to(model, stream, options)
    return write_documents({path: model}, options)


def write_documents(
    models: Mapping[Any, Written],
    options: SaveOptions,
    copies: Mapping[bytes, bytes] | None = None,
) -> SaveReport:
    """Write models of one folder by their paths.

    `copies`: by location, the new locations of data files that are copied; all others stay.
    """
    if copies is None:
        options.check()
    paths = [local_path(path) for path in models]
    documents = [model.document for model in models.values()]
    check_folder(paths[0])
    for path in paths:
        if options.overwrite or os.path.islink(path):
            _core.check_output(path, options.replace_read_only)
    if options.follow_symlinks:
        paths = [os.path.realpath(path) for path in paths]
    forms = [
        form_of(path, options.format, model.form)
        for path, model in zip(paths, models.values(), strict=True)
    ]
    folder = os.path.dirname(paths[0])
    if any(os.path.dirname(path) != folder for path in paths):
        raise ValueError("the models must be in one folder, since they share a data file")
    plan = options.plan()
    external = options.external_data
    is_plain = external is None and copies is None
    if external and external != "view":
        _data_path(folder, os.fsencode(external))
    find = cache(neighbours)  # before the new files are written, one look is enough
    for path, model in zip(paths, models.values(), strict=True):
        document = model.document
        is_same = copies is not None or is_root(document, folder)
        plan.add(
            document.proto,
            side_location(path, documents, find) if is_plain else b"",
            is_same_folder=is_same,
            view_location=viewed_name(document, path) if external == "view" else b"",
            copies=_copies(document, path) if is_plain and not is_same else dict(copies or {}),
            replaces_copies=copies is not None and options.overwrite,
            locations=new_locations(model.locations, path) if is_plain else {},
            needed=model.needed,
        )
    data_files = plan.data_files()
    data_paths = [_data_path(folder, location) for location, _, _, _ in data_files]
    referenced, loaded = plan.referenced, plan.loaded_files()
    for document in documents:
        if document.edited and may_lose_data(document, paths, folder):
            _core.open_loaded_files(document)

    def check_names(find: Finder = neighbours) -> list[bytes]:
        """Refuse names that are in use. Return the side files that nothing uses any longer."""
        if copies is None:
            check_replaced(paths, data_paths, documents, loaded, options.overwrite, find)
        if not options.overwrite:
            return []
        keeps = options.keeps_places()
        return sides_no_longer_used(paths, data_paths, documents, find, keeps=keeps)

    unused_sides = check_names(find)
    if copies is None:
        check_reachable(folder, documents, loaded)
    total = plan.finish(_checksums(plan) if options.checksum else [])
    for i, form in enumerate(forms):
        total = _in_form(plan, i, form, total)
    staying = files_that_stay(plan.files_with_unused_bytes(), (*data_paths, *paths))
    result = _with_progress(
        options.progress,
        total,
        lambda report: plan.write(
            paths, options.overwrite, options.replace_read_only, options.follow_symlinks,
            options.sync, unused_sides, check_names, report,
        ),
    )  # fmt: skip
    unused = _unused(staying)
    files = [plain_path(os.fsdecode(path)) for path in data_paths]
    for file, (_, size, used, _) in zip(files, data_files, strict=True):
        unused[file] = size - used
    return SaveReport(
        files=[*files, *(os.fsdecode(path) for path in paths)],
        bytes_referenced=referenced,
        unused=unused,
        **result,
    )


def write_message(
    message: Any, path: Path, overwrite: bool, replace_read_only: bool, sync: bool
) -> SaveReport:
    """Write any message of a `.proto` to a file."""
    plan = SaveOptions().plan()
    plan.add(message)
    plan.finish([])
    with own_stream(path) as stream:
        if stream is not None:
            written, copied = plan.write_model_to(_writer(stream), None)
            return SaveReport(bytes_written=written, bytes_copied=copied)
    name = local_path(path)
    check_replaced([name], [], [], {}, overwrite)
    return SaveReport(
        files=[os.fsdecode(name)],
        **plan.write([name], overwrite, replace_read_only, False, sync, [], list, None),
    )


def unused_bytes(document: _core.Document) -> dict[str, int]:
    """See `Model.unused_bytes`."""
    return _unused(_core.external_use(document))


def _write_to(model: Written, file: Any, options: SaveOptions) -> SaveReport:
    if options.external_data:
        raise ValueError("a file object has no folder for a data file; pass a path")
    plan = options.plan()
    plan.add(model.document.proto, locations=model.locations)
    if plan.data_files():
        raise ValueError(
            "values would go to a data file, and a file object has no folder for one; pass a path, "
            "or external_data=False"
        )
    total = _in_form(plan, 0, options.format or BINARY, plan.finish([]))
    written, copied = _with_progress(
        options.progress, total, lambda report: plan.write_model_to(_writer(file), report)
    )
    return SaveReport(
        bytes_written=written,
        bytes_copied=copied,
        bytes_referenced=plan.referenced,
        unused=_unused(plan.files_with_unused_bytes()),
    )


def _copies(document: _core.Document, path: bytes) -> dict[bytes, bytes]:
    """The new names of data files that cannot keep theirs in another folder, by location."""
    folder, name = map(os.fsdecode, os.path.split(path))
    locations = map(os.fsdecode, _core.external_locations(document))
    copies = copied_locations(locations, folder, name)
    return {os.fsencode(old): os.fsencode(new) for old, new in copies.items()}


def _data_path(folder: bytes, location: bytes) -> bytes:
    """The path of a data file, whose name may be written."""
    check_location(folder, location)
    check_text(location)
    return os.path.join(folder, location)


def _unused(files: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """The unused bytes of files, given their sizes and their bytes in use."""
    return {plain_path(path): size - used for path, (size, used) in files.items()}


def _with_progress(progress: ProgressArgument, total: int, work: Callable[[Any], V]) -> V:
    """Return work(report); `report` gets the bytes done and the total, or is None."""
    if progress is False:
        return work(None)
    from onnxmap._progress import Progress

    known = 0
    with Progress(progress, total, "saving") as shown:

        def report(done: int, _: int) -> None:
            nonlocal known
            shown.update(done - known)
            known = done
            if done == total:
                shown.show_now()  # what it raises now leaves the old files

        return work(report)


def _in_form(plan: _core.SavePlan, i: int, form: FileForm, total: int) -> int:
    """Bring the bytes of a model into a form. Return the bytes of all files; `total` before."""
    if form == BINARY:
        return total
    from onnxmap._model_texts import text_of

    return plan.encode_model(i, lambda data: text_of(data, form))


def _writer(file: Any) -> Callable[[bytes], object]:
    """The `write` of a file object, called until it has taken all bytes."""

    def write(data: bytes) -> None:
        left = memoryview(data)
        while left:
            taken = file.write(left)
            if taken is not None and not 0 <= taken <= len(left):
                raise OSError(errno.EIO, f"write() returned {taken} for {len(left)} bytes")
            if taken == 0 or (taken is None and isinstance(file, io.RawIOBase)):
                raise BlockingIOError(errno.EAGAIN, "the file object takes no bytes now")
            left = left[len(left) if taken is None else taken :]

    return write


def _checksums(plan: _core.SavePlan) -> list[str]:
    """The SHA-1 of each data file in hexadecimal."""
    import hashlib

    digests = []
    for i in range(len(plan.data_files())):
        digest = hashlib.sha1(usedforsecurity=False)
        plan.read_data_file(i, digest.update)
        digests.append(digest.hexdigest())
    return digests
