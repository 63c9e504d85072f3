"""Requests for ranges of a remote file through fsspec. A request is retried if that may help.

`http.py` has the requests over HTTP, whose answers say more than fsspec passes on.
"""

from __future__ import annotations

import abc
import asyncio
import concurrent.futures
import contextlib
import errno
import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from onnxmap import _core
from onnxmap.errors import OnnxMapError, printable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future

    from onnxmap._remote.transfer_limits import TransferLimits, TransferWatch

# Seconds before each further attempt, and the longest pause that a server may ask for.
PAUSES = (0.1, 0.3, 1.0)
LONGEST_PAUSE = 5.0

_LOOK_EVERY = 0.2  # seconds between two checks whether the caller still waits
# Characters of an error of fsspec, or of its client, that our message repeats.
_MOST_QUOTED = 400

_ANSWERS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
# Errors that another attempt would only repeat: also our own mistakes, or the caller's.
_FINAL = (*_ANSWERS, ValueError, TypeError)
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)

# The names that file systems of fsspec give to marks of a file's state, the best mark first.
_MARKS = (
    "ETag", "etag", "md5Hash", "content_md5", "VersionId", "generation", "LastModified",
    "last_modified", "updated", "mtime", "modified", "created",
)  # fmt: skip


class Trouble(Exception):
    """A request that failed.

    Attributes:
        number: the `errno` for the failure.
        transient: whether another attempt may help.
        pause: seconds that the server asks to wait before another attempt, or None.
        shorter: whether the failure suggests that the file has become shorter.
    """

    def __init__(
        self,
        number: int,
        message: str,
        *,
        transient: bool = False,
        pause: float | None = None,
        shorter: bool = False,
    ) -> None:
        super().__init__(message)
        self.number = number
        self.transient = transient
        self.pause = pause
        self.shorter = shorter

    def __reduce__(self) -> tuple[Any, ...]:
        # It is the cause of an OSError. Some packages make pickle keep causes.
        return _trouble, (self.number, str(self), self.transient, self.pause, self.shorter)


def _trouble(
    number: int, message: str, transient: bool, pause: float | None, shorter: bool
) -> Trouble:
    return Trouble(number, message, transient=transient, pause=pause, shorter=shorter)


@dataclass(frozen=True)
class State:
    """The state of a remote file. Two states differ if the file changed between them.

    Attributes:
        size: the size in bytes.
        mark: the name and value of an ETag, a modification time or another mark; None if the server
            sends none.
    """

    size: int
    mark: tuple[str, str] | None = None

    def differs(self, other: State) -> bool:
        """Return whether the file must have changed. Marks of different names prove nothing."""
        if self.mark is None or other.mark is None or self.mark[0] != other.mark[0]:
            return self.size != other.size
        return self != other


class Attempts:
    """Counts the attempts of one request, and decides whether there is another one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._failed = 0

    def pause_after(self, failure: Exception) -> float:
        """Return the seconds to wait before the next attempt, or raise if there is none."""
        # NotImplementedError: a file system of fsspec that cannot read ranges at all.
        if isinstance(failure, OnnxMapError | ImportError | MemoryError | NotImplementedError):
            raise failure
        transient = not isinstance(failure, _FINAL)
        pause: float | None = None
        if isinstance(failure, Trouble):
            transient, pause = failure.transient, failure.pause
        if not transient or self._failed == len(PAUSES):
            raise self._error(failure) from failure
        usual = PAUSES[self._failed]
        self._failed += 1
        return usual if pause is None else min(max(pause, 0.0), LONGEST_PAUSE)

    def _error(self, failure: Exception) -> OSError:
        # An error of another package may quote what a server sent.
        message = printable(str(failure)[:_MOST_QUOTED]) or type(failure).__name__
        if isinstance(failure, Trouble):
            number = failure.number
        elif isinstance(failure, _TIMEOUTS):
            number, message = errno.ETIMEDOUT, "no answer in time"
        elif isinstance(failure, _ANSWERS):
            number = _number_of(failure)
            message = os.strerror(number)
        else:
            number = getattr(failure, "errno", None) or errno.EIO
        if self._failed:
            message += f" ({self._failed + 1} attempts)"
        error = OSError(number, message, self._url)
        error.__dict__["shorter"] = getattr(failure, "shorter", False)
        return error


def _number_of(answer: OSError) -> int:
    if isinstance(answer, PermissionError):
        return errno.EACCES
    return errno.EISDIR if isinstance(answer, IsADirectoryError) else errno.ENOENT


class Requests(abc.ABC):
    """Requests about one file.

    Attributes:
        at_once: how many requests at a time make reading faster.
        limits: how long requests may take.
    """

    at_once = 16
    limits: TransferLimits

    @abc.abstractmethod
    def look(self, nbytes: int) -> tuple[State, bytes]:
        """Return the state of the file now, and perhaps its first bytes, about `nbytes` of them."""

    @abc.abstractmethod
    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """Request exactly these bytes of the file in the state of the first `look`."""

    @abc.abstractmethod
    def watch(self, nbytes: int) -> TransferWatch:
        """Return a watch over a wait for `nbytes` bytes, which begins now."""


class AsyncRequests(Requests):
    """Requests that all run in the one thread of fsspec."""

    def __init__(self, fs: Any, path: str, url: str, limits: TransferLimits) -> None:
        self._given = fs
        self.path = path
        self.url = url
        self.limits = limits

    @property
    def fs(self) -> Any:
        """The file system. A forked process gets a new one: connections do not survive a fork."""
        if getattr(self._given, "_pid", os.getpid()) != os.getpid():
            old = self._given
            self._given = type(old)(*old.storage_args, **old.storage_options)
        return self._given

    def run(self, work: Callable[[], Awaitable[Any]]) -> Future[Any]:
        """Run `work` until it succeeds or another attempt would not help."""
        return asyncio.run_coroutine_threadsafe(self._tried(work), self.fs.loop)

    async def _tried(self, work: Callable[[], Awaitable[Any]]) -> Any:
        attempts = Attempts(self.url)
        while True:
            try:
                return await work()
            except Exception as failure:  # noqa: BLE001 -- whatever a file system raises
                pause = attempts.pause_after(failure)
            await asyncio.sleep(pause)


class AsyncFsRequests(AsyncRequests):
    """Requests to an asynchronous file system of fsspec, like an object store."""

    def look(self, nbytes: int) -> tuple[State, bytes]:
        """See Requests."""
        return _state_of(wait(self.run(self._info), self.watch(nbytes)), self.url), b""

    def watch(self, nbytes: int) -> TransferWatch:
        """See Requests. Bytes are counted only when their request is done."""
        return self.limits.watch(nbytes)

    async def _info(self) -> dict[str, Any]:
        _forget_listing(self.fs, self.path)
        info: dict[str, Any] = await self.fs._info(self.path)
        return info

    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """See Requests."""
        return self.run(lambda: self._get(offset, nbytes))

    async def _get(self, offset: int, nbytes: int) -> bytes:
        body = await self.fs._cat_file(self.path, start=offset, end=offset + nbytes)
        self.limits.received.nbytes += len(body)
        return _checked(body, nbytes)


class SyncFsRequests(Requests):
    """Requests to any other file system of fsspec.

    Few file systems say whether threads may share them, and no request can be interrupted. Each
    request runs in a thread of its own, one at a time. A caller may stop waiting for it.
    """

    at_once = 1
    _locks: ClassVar[weakref.WeakKeyDictionary[Any, threading.Lock]] = weakref.WeakKeyDictionary()

    def __init__(self, fs: Any, path: str, url: str, limits: TransferLimits) -> None:
        self._fs = fs
        self._path = path
        self._url = url
        self.limits = limits
        self._lock = self._locks.setdefault(fs, threading.Lock())

    def look(self, nbytes: int) -> tuple[State, bytes]:
        """See Requests."""
        return _state_of(wait(self._run(self._info), self.watch(nbytes)), self._url), b""

    def watch(self, nbytes: int) -> TransferWatch:
        """See Requests. Speed is not checked: a cache may fetch a whole file for a few bytes."""
        return self.limits.watch(None)

    def _info(self) -> dict[str, Any]:
        _forget_listing(self._fs, self._path)
        info: dict[str, Any] = self._fs.info(self._path)
        return info

    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """See Requests."""
        from fsspec import AbstractFileSystem

        # The inherited function opens a file of fsspec, which would read megabytes ahead.
        inherited = type(self._fs).cat_file is AbstractFileSystem.cat_file
        plain: dict[str, Any] = {"cache_type": "none"} if inherited else {}
        asked = {"start": offset, "end": offset + nbytes, **plain}
        return self._run(lambda: _checked(self._fs.cat_file(self._path, **asked), nbytes))

    def _run(self, work: Callable[[], Any]) -> Future[Any]:
        answer: Future[Any] = concurrent.futures.Future()
        threading.Thread(target=self._answer, args=(answer, work), daemon=True).start()
        return answer

    def _answer(self, answer: Future[Any], work: Callable[[], Any]) -> None:
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # nobody waits any longer
            try:
                answer.set_result(self._tried(work, answer))
            except BaseException as failure:  # noqa: BLE001 -- raised where the answer is read
                answer.set_exception(failure)

    def _tried(self, work: Callable[[], Any], answer: Future[Any]) -> Any:
        attempts = Attempts(self._url)
        while True:
            while not self._lock.acquire(timeout=_LOOK_EVERY):
                _leave_if_cancelled(answer)
            try:
                _leave_if_cancelled(answer)
                return work()
            except concurrent.futures.CancelledError:
                raise
            except Exception as failure:  # noqa: BLE001 -- whatever a file system raises
                pause = attempts.pause_after(failure)
            finally:
                self._lock.release()
            time.sleep(pause)


def _leave_if_cancelled(answer: Future[Any]) -> None:
    if answer.cancelled():
        raise concurrent.futures.CancelledError


def _leave_if_stopped() -> None:
    if _core.is_stopped():
        raise concurrent.futures.CancelledError


def wait(future: Future[Any], watch: TransferWatch) -> Any:
    """Return the result of the future.

    The watch and Ctrl-C end the wait and cancel the future. In a thread of the core, the core says
    when Ctrl-C was pressed.
    """
    try:
        if not future.done():
            watch.check()
        while not concurrent.futures.wait((future,), timeout=_LOOK_EVERY).done:
            _leave_if_stopped()
            watch.check()
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _checked(body: bytes, nbytes: int) -> bytes:
    if len(body) == nbytes:
        return body
    shorter = len(body) < nbytes
    message = f"asked for {nbytes} bytes, but got {len(body)}"
    raise Trouble(errno.EIO, message, transient=shorter, shorter=shorter)


def is_size(nbytes: int) -> bool:
    """Return whether a file can have this size: offsets are signed numbers of 64 bits."""
    return 0 <= nbytes < 1 << 63


def _state_of(info: dict[str, Any], url: str) -> State:
    if info.get("type") == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)
    size = info.get("size")
    if not isinstance(size, int) or not is_size(size):
        raise OSError(errno.EIO, "the file system does not say how large the file is", url)
    for name in _MARKS:
        if info.get(name):
            return State(size, (name, str(info[name])))
    return State(size)


def _forget_listing(fs: Any, path: str) -> None:
    """Make fsspec forget its listing of the folder, which may be out of date."""
    fs.invalidate_cache(fs._parent(path))
