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
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._progress import Progress
from onnxmap.errors import OnnxMapError, make_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from onnxmap._progress import ProgressArgument

# Large enough for few calls; small enough to stay in the processor's cache until it is hashed, and
# to stop quickly.
_BYTES_AT_ONCE = 1 << 20
_HEX_DIGITS = re.compile("[0-9a-fA-F]{40}")
_LONGEST_QUOTED = 200  # characters of the model's text in a message

Failure = OnnxMapError | OSError


@dataclass
class DataFile:
    """A file of external data.

    Attributes:
        path: its path; if there is no such file, the location as the model spells it.
        opened: the open file; None if it cannot be opened.
        declared: the checksums that tensors declare for it, each with the first tensor that does.
        failure: why it cannot be checked, or None.
    """

    path: str
    opened: _core.ExternalFile | None = None
    declared: dict[str, _core.Tensor] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True)
class Outcome:
    """The result for one file.

    Attributes:
        file: the file.
        digest: its SHA-1; None if it was not read.
        failure: why it does not match what is declared, or None.
    """

    file: DataFile
    digest: str | None
    failure: Failure | None


def verify_tensor(tensor: _core.Tensor) -> bool:
    """Return whether the tensor declares a checksum, after comparing it; see `Tensor.verify`."""
    files = data_files([tensor], declared_only=True)
    for file in files:
        if file.failure is not None:
            raise file.failure
        assert file.opened is not None  # nothing failed
        digest = _digest(file.opened, lambda _: True)
        fault = _fault(file, digest)
        if fault is not None:
            raise fault
    return bool(files)


def verify_tensors(tensors: Iterable[_core.Tensor], progress: ProgressArgument) -> dict[str, str]:
    """Return the digests of the files of a model's tensors; see `Model.verify`."""
    files = data_files(tensors, declared_only=True)
    with Progress(progress, bytes_to_read(files), "verifying") as bar:
        outcomes = check_files(files, bar)
    return {outcome.file.path: outcome.digest for outcome in outcomes if outcome.digest}


def data_files(tensors: Iterable[_core.Tensor], *, declared_only: bool) -> list[DataFile]:
    """Open the data files of these tensors, each once, however its location is spelt.

    Args:
        tensors: tensors of one model.
        declared_only: leave out files for which no checksum is declared.
    """
    by_location: dict[tuple[str, str], DataFile] = {}
    for tensor in tensors:
        try:
            external = tensor.external
        except OnnxMapError as failure:  # entries that contradict each other
            location = getattr(failure, "location", "")
            by_location.setdefault((failure.code, location), DataFile(location, failure=failure))
            continue
        if external is None or (external.checksum is None and declared_only):
            continue
        key = ("", external.location)
        if key not in by_location:
            by_location[key] = _open(tensor, external.location)
        if external.checksum is not None:
            by_location[key].declared.setdefault(external.checksum, tensor)
    files = _each_once(by_location.values())
    for file in files:
        file.failure = file.failure or _fault(file, None)
    return files


def _open(tensor: _core.Tensor, location: str) -> DataFile:
    try:
        path = tensor.file or location
    except OnnxMapError:  # _core.external_file() raises the same
        path = location
    try:
        return DataFile(path, _core.external_file(tensor))
    except (OnnxMapError, OSError) as failure:
        return DataFile(path, failure=failure)


def _each_once(files: Iterable[DataFile]) -> list[DataFile]:
    known: dict[tuple[int, int], DataFile] = {}
    unique = []
    for file in files:
        first = file if file.opened is None else known.setdefault(file.opened.identity, file)
        if first is file:
            unique.append(file)
        for text, tensor in file.declared.items():
            first.declared.setdefault(text, tensor)
    return unique


def bytes_to_read(files: Iterable[DataFile]) -> int:
    """Return the number of bytes that `check_files` will read."""
    return sum(opened.size for opened in _to_read(files).values())


def _to_read(files: Iterable[DataFile]) -> dict[tuple[int, int], _core.ExternalFile]:
    """The files that can be read and for which a checksum is declared, in order."""
    found: dict[tuple[int, int], _core.ExternalFile] = {}
    for file in files:
        if file.failure is None and file.declared and file.opened is not None:
            found.setdefault(file.opened.identity, file.opened)
    return found


def check_files(
    files: Sequence[DataFile], bar: Progress, *, keep_going: bool = False
) -> list[Outcome]:
    """Return the result for each file, in the same order. Several files are read at a time.

    Args:
        files: the files whose checksums to compare.
        bar: shows how many bytes have been read.
        keep_going: check all files instead of raising the first failure.

    Raises:
        ExternalDataError: a file does not match its checksum or cannot be read.
        OSError: the system refused to read a file.
    """
    opened = _to_read(files)
    outcomes = []
    with _Readers(len(opened), bar) as readers:
        digests = {identity: readers.submit(file) for identity, file in opened.items()}
        for file in files:
            outcome = _outcome(file, digests, readers)
            if outcome.failure is not None and not keep_going:
                raise outcome.failure
            outcomes.append(outcome)
    return outcomes


def _outcome(
    file: DataFile, digests: dict[tuple[int, int], Future[str | None]], readers: _Readers
) -> Outcome:
    if file.failure is not None or file.opened is None or not file.declared:
        return Outcome(file, None, file.failure)
    try:
        digest = readers.result(digests[file.opened.identity])
    except (OnnxMapError, OSError) as failure:
        return Outcome(file, None, failure)
    return Outcome(file, digest, _fault(file, digest))


class _Readers:
    """Threads that hash files. Leaving the `with` block stops them."""

    def __init__(self, most: int, bar: Progress) -> None:
        threads = max(min(_core.usable_cpus(), most), 1)
        self._pool = ThreadPoolExecutor(threads, "onnxmap-verify")
        self._bar = bar
        self._stopped = threading.Event()

    def __enter__(self) -> _Readers:  # noqa: PYI034 -- typing.Self is Python 3.11's
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, file: _core.ExternalFile) -> Future[str | None]:
        """Let a thread hash the file."""
        return self._pool.submit(_digest, file, self._go_on)

    def _go_on(self, nbytes: int) -> bool:
        self._bar.update(nbytes)
        return not self._stopped.is_set()

    def result(self, future: Future[str | None]) -> str:
        """Wait for a digest. Meanwhile the bar is updated, and Ctrl-C works."""
        while not future.done():
            wait([future], timeout=self._bar.interval)
            self._bar.refresh()
        digest = future.result()
        assert digest is not None  # nobody stopped it
        return digest


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


def wrong_checksum(file: DataFile, digest: str | None) -> str | None:
    """Return the first declared checksum that is malformed or not `digest`; None if all match."""
    for declared in file.declared:
        if not _HEX_DIGITS.fullmatch(declared):
            return declared
        if digest is not None and declared.lower() != digest:
            return declared
    return None


def _fault(file: DataFile, digest: str | None) -> OnnxMapError | None:
    """The error for the first wrong checksum that is declared for the file, or None."""
    declared = wrong_checksum(file, digest)
    if declared is None:
        return None
    tensor = file.declared[declared]
    if _HEX_DIGITS.fullmatch(declared):
        message = f"the file {file.path!r} has SHA-1 {digest}, but the model declares {declared}"
        return _failure("ext.checksum", message, tensor, file.path)
    message = f"checksum {_quoted(declared)} is not a SHA-1 (40 hexadecimal digits)"
    return _failure("ext.checksum_form", message, tensor)


def _failure(code: str, message: str, tensor: _core.Tensor, path: str = "") -> OnnxMapError:
    external = tensor.external
    assert external is not None  # it was read before
    name = tensor.name or _core.tensor_path(tensor)
    shown = _quoted(name) if tensor.name else name
    told = f"tensor {shown}: {message}" if name else message
    return make_error(code, told, None, "", path, name, external.location)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + "...")
