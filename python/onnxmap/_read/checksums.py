"""Compares external files with the SHA-1 that a model declares for them.

A checksum is that of the whole file, even if the tensor is only a part of the file.

Source: onnx.proto, comment of `TensorProto.external_data`: `"checksum" (optional): SHA1 digest of
file specified in under 'location' key`.
"""

from __future__ import annotations

import hashlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._show.progress import SECONDS_BETWEEN, Progress
from onnxmap.errors import OnnxMapError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onnxmap._show.progress import ProgressArgument

# Large enough for few calls; small enough to stay in the processor's cache until it is hashed, and
# to stop quickly.
_BYTES_AT_ONCE = 1 << 20
_HEX_DIGITS = re.compile("[0-9a-fA-F]{40}")
_LONGEST_QUOTED = 200  # characters of the model's text in a message


@dataclass
class DataFile:
    """A file of external data.

    Attributes:
        path: its path; if there is no such file, the location as the model spells it.
        opened: the open file; None if it cannot be opened.
        declared: the checksums that tensors declare for it, each with the first tensor that does.
        failure: why it cannot be opened, or is known not to be what is declared; or None.
        digest: its SHA-1 in hexadecimal; None until `verify_files` has read it.
    """

    path: str
    opened: _core.ExternalFile | None = None
    declared: dict[str, _core.Tensor] = field(default_factory=dict)
    failure: OnnxMapError | OSError | None = None
    digest: str | None = None

    @property
    def nbytes(self) -> int | None:
        """The size of the file in bytes; None if it cannot be opened."""
        return None if self.opened is None else self.opened.size

    @property
    def wrong_checksum(self) -> str | None:
        """The first declared checksum that is malformed or not the file's; or None."""
        for declared in self.declared:
            is_other = self.digest is not None and declared.lower() != self.digest
            if is_other or not _HEX_DIGITS.fullmatch(declared):
                return declared
        return None


def verify_tensor(tensor: _core.Tensor) -> bool:
    """Return whether the tensor declares a checksum, after comparing it; see `Tensor.verify`."""
    return bool(verify_tensors([tensor], False))


def verify_tensors(tensors: Iterable[_core.Tensor], progress: ProgressArgument) -> dict[str, str]:
    """Return the digests of the files of a model's tensors; see `Model.verify`."""
    files = data_files(tensors, declared_only=True)
    check_files(files, progress)
    return {file.path: file.digest for file in files if file.digest}


def verify_files(files: Iterable[DataFile], *, progress: ProgressArgument = False) -> None:
    """Compare data files with the checksums that models declare for them. It raises no failure.

    A file that occurs more than once, such as one that several models share, is read once. Several
    files are read at a time. Files for which no checksum is declared are not read.

    Args:
        files: from `Model.data_files()`, also of several models. Sets `digest`, and `failure` if a
            file cannot be read, or is not what one of the models declares.
        progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`.

    Example:
        >>> files = model.data_files()  # doctest: +SKIP
        >>> onnxmap.verify_files(files)  # doctest: +SKIP
        >>> [file.path for file in files if file.failure]  # doctest: +SKIP
    """
    check_files(list(files), progress, keep_going=True)


def data_files(tensors: Iterable[_core.Tensor], *, declared_only: bool) -> list[DataFile]:
    """Open the data files of these tensors, each once, however its location is spelt.

    Args:
        tensors: tensors of one model.
        declared_only: leave out files for which no checksum is declared.
    """
    by_location: dict[str, DataFile] = {}
    files: dict[object, DataFile] = {}
    for tensor in tensors:
        try:
            external = tensor.external
        except OnnxMapError as failure:  # entries that contradict each other
            location = getattr(failure, "location", "")
            files.setdefault((failure.code, location), DataFile(location, failure=failure))
            continue
        if external is None or (external.checksum is None and declared_only):
            continue
        file = by_location.get(external.location)
        if file is None:
            file = _open(tensor, external.location)
            key = external.location if file.opened is None else file.opened.identity
            file = by_location[external.location] = files.setdefault(key, file)
        if external.checksum is not None:
            file.declared.setdefault(external.checksum, tensor)
    for file in files.values():
        file.failure = file.failure or _fault(file)
    return list(files.values())


def _open(tensor: _core.Tensor, location: str) -> DataFile:
    file = DataFile(location)
    try:
        file.path = tensor.file or location
        file.opened = _core.external_file(tensor)
    except (OnnxMapError, OSError) as failure:
        file.failure = failure
    return file


def check_files(
    files: Sequence[DataFile], progress: ProgressArgument, *, keep_going: bool = False
) -> None:
    """Set the digest of each file, and the failure if it is not a declared one.

    Several files are read at a time.

    Args:
        files: the files whose checksums to compare.
        progress: as for `verify_files`.
        keep_going: check all files instead of raising the first failure.

    Raises:
        ExternalDataError: a file does not match its checksum or cannot be read.
        OSError: the system refused to read a file.
    """
    to_read = [file for file in files if file.failure is None and file.declared]
    opened = {file.opened.identity: file.opened for file in to_read if file.opened is not None}
    stopped = threading.Event()
    read = dict.fromkeys(opened, 0)  # bytes of each file; only its thread changes them

    def go_on(key: tuple[int, int], nbytes: int) -> bool:
        read[key] += nbytes
        return not stopped.is_set()

    total = sum(each.size for each in opened.values())
    threads = max(min(_core.usable_cpus(), len(opened)), 1)
    pool = ThreadPoolExecutor(threads, "onnxmap-verify")
    with Progress(progress, total, "verifying") as bar:
        try:
            digests = {
                key: pool.submit(_digest, each, partial(go_on, key)) for key, each in opened.items()
            }
            for file in files:
                if file.failure is None and file.declared and file.opened is not None:
                    future = digests[file.opened.identity]
                    while not future.done():  # the bar is updated, and Ctrl-C works
                        wait([future], timeout=SECONDS_BETWEEN)
                        bar.show(sum(read.values()))
                    try:
                        file.digest = future.result()
                        file.failure = _fault(file)
                    except (OnnxMapError, OSError) as failure:
                        file.failure = failure
                if file.failure is not None and not keep_going:
                    raise file.failure
            bar.show(sum(read.values()))
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _digest(file: _core.ExternalFile, go_on: Callable[[int], bool]) -> str | None:
    """The SHA-1 of the whole file as it was when it was opened; None if `go_on` said to stop."""
    file.check_unchanged()  # before reading a large file in vain
    sha1 = hashlib.sha1(usedforsecurity=False)
    buffer = memoryview(bytearray(min(_BYTES_AT_ONCE, file.size)))
    for offset in range(0, file.size, _BYTES_AT_ONCE):
        piece = buffer[: file.size - offset]
        file.readinto(offset, piece)
        sha1.update(piece)
        if not go_on(len(piece)):
            return None
    file.check_unchanged()
    return sha1.hexdigest()


def _fault(file: DataFile) -> OnnxMapError | None:
    """The error for the first wrong checksum that is declared for the file, or None."""
    declared = file.wrong_checksum
    if declared is None:
        return None
    if _HEX_DIGITS.fullmatch(declared):
        code, path = "ext.checksum", file.path
        message = f"the file {path!r} has SHA-1 {file.digest}, but the model declares {declared}"
    else:
        code, path = "ext.checksum_form", ""
        message = f"checksum {_quoted(declared)} is not a SHA-1 (40 hexadecimal digits)"
    tensor = file.declared[declared]
    name = tensor.name or _core.tensor_path(tensor)
    if name:
        message = f"tensor {_quoted(name) if tensor.name else name}: {message}"
    location = getattr(tensor.external, "location", "")
    return make_error(code, message, None, "", path, name, location)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "...")
