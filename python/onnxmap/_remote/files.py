"""Files and folders behind URLs: `https://`, `s3://`, `memory://` and all others of fsspec.

No file is downloaded as a whole. The core asks a `RemoteFile` for ranges of bytes when it needs
them, from any thread. A long range is split into pieces, and several are requested at a time.
"""

from __future__ import annotations

import itertools
import os
import time
import weakref
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from onnxmap._remote.requests import wait
from onnxmap._remote.transfer_limits import TransferLimits, received_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

    from onnxmap._limits import Limits
    from onnxmap._remote.requests import Requests

# Bytes of one request. The answer takes about 50 ms to begin; a megabyte arrives in the same time.
_PIECE = 8 << 20
# Bytes that the first request for a model's file asks for: the core reads that many first.
_HEAD = 64 << 10

# While many tensors are opened one by one, a file is checked at most this often; as in the core.
_RECENT_SECONDS = 10.0

_serial = itertools.count()
_open_files: weakref.WeakValueDictionary[tuple[str, str, Limits | None], RemoteFile] = (
    weakref.WeakValueDictionary()
)


class RemoteFile:
    """A file in the state in which it was opened. Safe to share between threads.

    Attributes:
        url: the URL of the file.
        size: the size in bytes.
        state: a text that differs from that of any other file, and of any other state of this file.
        at_once: how many requests at a time make reading faster.
        looked_at: when the file was last seen in that state, by time.monotonic().
    """

    def __init__(
        self, fs: Any, path: str, url: str, limits: TransferLimits, *, head: int = 1
    ) -> None:
        self.url = url
        self._requests = _requests(fs, path, url, limits)
        self.looked_at = time.monotonic()
        self._opened, self._head = self._requests.look(head)
        self.size = self._opened.size
        self.at_once = self._requests.at_once
        mark = self._opened.mark or ("opened", str(next(_serial)))
        self.state = repr((fs._fs_token, path, self.size, mark))

    def read_into(self, offset: int, memory: memoryview) -> None:
        """Fill `memory` with the bytes of the file from `offset` on.

        Raises:
            FileChangedError: the file changed since it was opened.
            OSError: the file cannot be read; `filename` is the URL.
        """
        known = self._head[offset : offset + len(memory)]
        memory[: len(known)] = known
        rest = memory[len(known) :]
        try:
            self._read(offset + len(known), rest)
        except OSError as error:
            if error.__dict__.get("shorter"):
                self.check_unchanged()  # FileChangedError says more than this error
            raise
        finally:
            rest.release()  # a traceback may keep it alive after the memory is freed

    def _read(self, offset: int, memory: memoryview) -> None:
        pieces = iter(range(0, len(memory), _PIECE))
        asked: deque[tuple[int, Future[bytes]]] = deque()
        watch = self._requests.watch(len(memory))
        try:
            while True:
                for begin in itertools.islice(pieces, self.at_once - len(asked)):
                    nbytes = min(_PIECE, len(memory) - begin)
                    asked.append((begin, self._requests.start(offset + begin, nbytes)))
                if not asked:
                    return
                begin, answer = asked.popleft()
                body = wait(answer, watch)
                memory[begin : begin + len(body)] = body
        finally:
            for _, answer in asked:
                answer.cancel()

    def check_unchanged(self) -> None:
        """Ask the server for the state of the file; raise FileChangedError if it changed."""
        from onnxmap._remote.http import changed

        looked_at = time.monotonic()
        now, _ = self._requests.look(1)
        if self._opened.differs(now):
            raise changed(self.url, self._opened, now)
        self.looked_at = looked_at


class RemoteFolder:
    """A folder behind a URL that holds data files.

    Attributes:
        url: the URL of the folder, without a slash at the end.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits
        url = url if url.endswith("://") else url.rstrip("/")
        fs, path = _file_system(url, options)
        self._set(fs, _without_query(path) if _is_http(path) else path, _around(fs, path, url))

    def _set(self, fs: Any, path: str, around: tuple[str, str]) -> None:
        self._fs, self._path = fs, path.rstrip("/")
        self._before, self._after = around
        self.url = self._shown(self._path)

    @classmethod
    def of_file(
        cls, url: str, options: Mapping[str, Any] | None, limits: Limits | None
    ) -> RemoteFolder:
        """Return the folder that holds a file."""
        fs, path = _file_system(url, options)
        plain = _without_query(path) if _is_http(path) else path
        scheme, between, rest = plain.partition("://") if _is_http(path) else ("", "", plain)
        host, slash, names = rest.partition("/") if scheme else ("", "", rest)
        parent = names.rpartition("/")[0]
        folder = cls.__new__(cls)
        folder._limits = limits
        folder._set(fs, f"{scheme}{between}{host}{slash}{parent}", _around(fs, path, url))
        return folder

    def url_of(self, location: bytes) -> str:
        """Return the URL of a file in the folder, to be shown to people."""
        return self._shown(self._path_of(location))

    def open(self, location: bytes, *, recently: bool = False) -> RemoteFile:
        """Open a file in the folder.

        Args:
            location: the path relative to the folder. The caller has checked that it does not lead
                out. Its characters have no special meaning in the URL.
            recently: take a file that is open already without asking the server, if it was checked
                a few seconds ago.
        """
        path = self._path_of(location)
        return _open(self._fs, path, self._shown(path), self._limits, recently=recently)

    def _shown(self, path: str) -> str:
        return self._before + path + self._after

    def _path_of(self, location: bytes) -> str:
        names: list[bytes] = []
        for name in location.split(b"/"):
            if name == b"..":
                names.pop()  # never above the folder, as the caller has checked
            elif name not in (b"", b"."):
                names.append(name)
        joined = b"/".join(names)
        if _is_http(self._path):
            return f"{self._path}/{quote(joined)}"
        rooted = self._path or str(self._fs.root_marker) == "/"
        return f"{self._path}/{os.fsdecode(joined)}" if rooted else os.fsdecode(joined)


class PickledFolder(RemoteFolder):
    """A folder for references in a pickle. Thousands of them may name one file."""

    def open(self, location: bytes, *, recently: bool = True) -> RemoteFile:
        """See RemoteFolder."""
        return super().open(location, recently=recently)


class PickledFile:
    """A model's file that holds a pickled tensor. The core uses it like a folder."""

    def __init__(self, url: str) -> None:
        self.url = url

    def url_of(self, location: bytes) -> str:
        """Return the URL of the file for any location."""
        return self.url

    def open(self, location: bytes) -> RemoteFile:
        """Open the file for any location."""
        fs, path = _file_system(self.url, None)
        return _open(fs, path, self.url, None, recently=True)


@contextmanager
def opening_file(
    url: str, options: Mapping[str, Any] | None, limits: Limits | None
) -> Iterator[RemoteFile]:
    """Yield the file that a URL names. All reads of it in the block share one timeout."""
    fs, path = _file_system(url, options)
    transfer = _transfer_limits(fs, path, url, limits)
    with transfer.one_timeout():
        yield RemoteFile(fs, path, url, transfer, head=_HEAD)


def name_of(url: str) -> str:
    """Return the last name in a URL, decoded as the name of a file."""
    path = url.partition("::")[0]
    if _is_http(path):
        return unquote(_without_query(path).rpartition("/")[2])
    return path.rpartition("/")[2]


def _open(fs: Any, path: str, url: str, limits: Limits | None, *, recently: bool) -> RemoteFile:
    key = (fs._fs_token, path, limits)
    known = _open_files.get(key) if recently else None
    if known is None or time.monotonic() > known.looked_at + _RECENT_SECONDS:
        known = RemoteFile(fs, path, url, _transfer_limits(fs, path, url, limits))
        _open_files[key] = known
    return known


def _around(fs: Any, path: str, url: str) -> tuple[str, str]:
    """The parts of a URL before and after its path."""
    before, found, after = url.partition(path) if path else ("", "", "")
    if not found:  # for example the root
        before, after = str(fs.unstrip_protocol(path)).removesuffix(path), ""
        if not path and fs.root_marker == "/":
            before = before.removesuffix("/")
    return before, after


def _without_query(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]


def _is_http(path: str) -> bool:
    return path.startswith(("http://", "https://"))


def _transfer_limits(fs: Any, path: str, url: str, limits: Limits | None) -> TransferLimits:
    server = urlsplit(path).netloc if _is_http(path) else ""
    return TransferLimits(url, limits, received_from((fs._fs_token, server)))


def _requests(fs: Any, path: str, url: str, limits: TransferLimits) -> Requests:
    from fsspec.asyn import AsyncFileSystem

    from onnxmap._remote.requests import AsyncFsRequests, SyncFsRequests

    if not isinstance(fs, AsyncFileSystem):
        return SyncFsRequests(fs, path, url, limits)
    if _is_http(path) and hasattr(fs, "set_session"):
        from onnxmap._remote.http import HttpRequests

        return HttpRequests(fs, path, url, limits)
    return AsyncFsRequests(fs, path, url, limits)


def _file_system(url: str, options: Mapping[str, Any] | None) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise _lacking("fsspec", url, error) from error
    try:
        fs, path = url_to_fs(url, **dict(options or {}))
    except ImportError as error:
        raise _lacking(_package_of(error), url, error) from error
    return fs, path


def _package_of(error: ImportError) -> str:
    """The package that cannot be imported. fsspec names it in a cause of its error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ImportError) and cause.name:
            return cause.name.partition(".")[0]
        cause = cause.__cause__ or cause.__context__
    return ""


def _lacking(package: str, url: str, error: ImportError) -> ImportError:
    scheme = url.partition("://")[0]
    more = "" if package in ("", "fsspec", "aiohttp") else f" {package}"
    message = f"reading {scheme}:// URLs needs {package or 'another package'}: {error}"
    return ImportError(f"{message}; pip install 'onnxmap[remote]'{more}", name=package or None)
