"""Writes documents to files: the core does so, and asks back what only Python can do."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.file_forms import BINARY, FileForm, check_not_weights, form_of
from onnxmap._base.later import import_module
from onnxmap._show.progress import Progress
from onnxmap._write.new_types import TypesByPattern
from onnxmap._write.options import SaveOptions, SaveReport, WeightsOptions
from onnxmap._write.paths import local_path
from onnxmap._write.streams import own_stream
from onnxmap._write.text_files import locations_in_text, text_of

if TYPE_CHECKING:
    from typing import BinaryIO, Literal

    from onnxmap._base.new_message import Message
    from onnxmap._base.paths import Path

    Writer = Callable[[bytes], object]


@dataclass(frozen=True)
class Written:
    """A model, or another message, to be written.

    Attributes:
        form: of the file that the message was loaded from.
        locations: the data files for values that are in the message, by the positions of the
            tensors.
        must_exist: which external values that stay must be there: by default, those that an edit
            placed.
    """

    proto: Message
    form: FileForm = BINARY
    locations: dict[int, bytes] = field(default_factory=dict)
    must_exist: Literal["all", "placed", "none"] = "placed"


class _Hooks:
    """What the core asks of Python during a save.

    Args:
        forms: those of the files that the models were loaded from.
        form: that of all new files; None: the options and the paths say it.
        options: the options of the save.
        shown: ends the display of the progress.
    """

    locations_in_text = staticmethod(locations_in_text)

    def __init__(
        self, forms: list[FileForm], form: FileForm | None, options: SaveOptions, shown: ExitStack
    ) -> None:
        self._forms, self._form, self._shown = forms, form, shown
        self._format, self._progress = options.format, options.progress
        self.new_sha1 = _new_sha1 if options.checksum else None
        self.types_of = None if options.dtype is None else TypesByPattern(options.dtype)

    def encoder_of(self, i: int, path: bytes) -> Callable[[bytes], bytes] | None:
        form = self._form or form_of(path, self._format, self._forms[i])
        return None if form == BINARY else partial(text_of, form=form)

    def start(self, total: int) -> Callable[[int, int], object] | None:
        if self.types_of:
            self.types_of.check_patterns()
        progress = Progress(self._progress, total, "saving")
        return self._shown.enter_context(progress).callback


def write_document(model: Written, path: Path | BinaryIO, options: SaveOptions) -> SaveReport:
    """Write one model to a file, or in order to a file object."""
    if hasattr(path, "write"):
        return _write_to(model, path, options)
    with own_stream(path) as stream:
        if stream is not None:
            return _write_to(model, stream, options)
    return write_documents({path: model}, options)


def write_documents(
    models: Mapping[Any, Written], options: SaveOptions, copies: Mapping[bytes, bytes] | None = None
) -> SaveReport:
    """Write models of one folder by their paths.

    `copies`: by location, the new locations of data files that are copied; all others stay.
    """
    if copies is None:
        options.check()
    placed = [(local_path(path), each) for path, each in models.items()]
    return _save(placed, options, copies=None if copies is None else dict(copies))


def write_weights(model: Written, path: Path, options: WeightsOptions) -> SaveReport:
    """Write the initializers of a model to a file of weights, or to shards with an index."""
    place = local_path(path)
    options = replace(options, external_data=os.path.basename(place))
    options.check()
    return _save([(place, Written(model.proto))], options, BINARY)


def write_message(
    message: Any, path: Path, overwrite: bool, replace_read_only: bool, sync: bool
) -> SaveReport:
    """Write any message of a `.proto` to a file."""
    options = SaveOptions(overwrite=overwrite, replace_read_only=replace_read_only, sync=sync)
    with own_stream(path) as stream:
        take = None if stream is None else _writer(stream)
        place = b"" if take else local_path(path)
        check_not_weights(place)
        return _save([(place, Written(message))], options, BINARY, is_message=True, take=take)


def _write_to(model: Written, file: Any, options: SaveOptions) -> SaveReport:
    options.check()
    if options.external_data:
        raise ValueError("a file object has no folder for a data file; pass a path")
    return _save([(b"", model)], options, options.format or BINARY, take=_writer(file))


def _save(
    models: list[tuple[bytes, Written]],
    options: SaveOptions,
    form: FileForm | None = None,
    **given: Any,
) -> SaveReport:
    with ExitStack() as shown:
        hooks = _Hooks([each.form for _, each in models], form, options, shown)
        rows = [(each.proto, path, each.locations, each.must_exist) for path, each in models]
        return SaveReport(**_core.save_models(rows, options, hooks, **given))


def _writer(file: Any) -> Writer:
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


def _new_sha1() -> Any:
    # A third of the first save's imports.
    return import_module("hashlib").sha1(usedforsecurity=False)
