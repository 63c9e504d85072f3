"""Requests for ranges of a remote file, through fsspec, and tried again where that may help.

`http.py` has those of HTTP, whose answers say more than fsspec passes on.
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

# Seconds before each further attempt, and the most that a server may ask for instead.
PAUSES = (0.1, 0.3, 1.0)
LONGEST_PAUSE = 5.0

_LOOK_EVERY = 0.2  # seconds between two looks whether anybody still waits
# The most characters of an error of fsspec, or of its client, that our message repeats.
_MOST_QUOTED = 400

_ANSWERS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
# What else tells of our own mistake, or the caller's: the same question gets the same answer.
_FINAL = (*_ANSWERS, ValueError, TypeError)
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)

# What file systems of fsspec call a mark of a file's state, the best first.
_MARKS = (
    "ETag", "etag", "md5Hash", "content_md5", "VersionId", "generation", "LastModified",
    "last_modified", "updated", "mtime", "modified", "created",
)  # fmt: skip


class Trouble(Exception):
    """A request that came to nothing.

    Attributes:
        number: the system's for it.
        transient: whether another attempt may help.
        pause: seconds that the server asks to wait before that.
        shorter: whether it looks as though the file were shorter than it was.
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
        # As the cause of an OSError it is pickled, too, where somebody has taught pickle to do so.
        return _trouble, (self.number, str(self), self.transient, self.pause, self.shorter)


def _trouble(
    number: int, message: str, transient: bool, pause: float | None, shorter: bool
) -> Trouble:
    return Trouble(number, message, transient=transient, pause=pause, shorter=shorter)


@dataclass(frozen=True)
class State:
    """What tells one state of a remote file from another.

    Attributes:
        size: in bytes.
        mark: an ETag, a time of modification or the like, with its name; None where there is none.
    """

    size: int
    mark: tuple[str, str] | None = None

    def differs(self, other: State) -> bool:
        """Whether the two cannot be the same state; marks of different names say nothing."""
        if self.mark is None or other.mark is None or self.mark[0] != other.mark[0]:
            return self.size != other.size
        return self != other


class Attempts:
    """How often one request was tried, and how it ends."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._failed = 0

    def pause_after(self, failure: Exception) -> float:
        """Seconds to wait before the next attempt; raises where there is none."""
        # NotImplementedError is a file system of fsspec's that cannot read ranges at all.
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
        # The text of another package's error may quote what a server sent.
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
        at_once: how many are of use at a time.
        limits: how long they may take.
    """

    at_once = 16
    limits: TransferLimits

    @abc.abstractmethod
    def look(self, nbytes: int) -> tuple[State, bytes]:
        """The state of the file now; and perhaps its beginning, some `nbytes` of it."""

    @abc.abstractmethod
    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """Asks for exactly these bytes of the file as it was at the first look."""

    @abc.abstractmethod
    def watch(self, nbytes: int) -> TransferWatch:
        """Return a watch over a wait for `nbytes` bytes, which begins now."""


class AsyncRequests(Requests):
    """Requests that run in fsspec's thread, of which there is one for all of them."""

    def __init__(self, fs: Any, path: str, url: str, limits: TransferLimits) -> None:
        self._given = fs
        self.path = path
        self.url = url
        self.limits = limits

    @property
    def fs(self) -> Any:
        """The file system, as this process may use it: connections do not survive a fork."""
        if getattr(self._given, "_pid", os.getpid()) != os.getpid():
            old = self._given
            self._given = type(old)(*old.storage_args, **old.storage_options)
        return self._given

    def run(self, work: Callable[[], Awaitable[Any]]) -> Future[Any]:
        """Tries `work` until it succeeds or is not worth another attempt."""
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
    """Those of an asynchronous file system of fsspec: object stores and the like."""

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
        """See Requests. The speed is not judged: a cache may fetch a whole file for a few bytes."""
        return self.limits.watch(None)

    def _info(self) -> dict[str, Any]:
        _forget_listing(self._fs, self._path)
        info: dict[str, Any] = self._fs.info(self._path)
        return info

    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """See Requests."""
        from fsspec import AbstractFileSystem

        # As files of fsspec are, they would read megabytes ahead.
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
    """What the future comes to.

    The watch and Ctrl-C end the wait, and what is waited for; in a thread of the core's it is the
    core that says so.
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
    message = f"{len(body)} bytes came where {nbytes} were asked for"
    raise Trouble(errno.EIO, message, transient=shorter, shorter=shorter)


def is_size(nbytes: int) -> bool:
    """Whether a file can be so large: its offsets are signed numbers of 64 bits."""
    return 0 <= nbytes < 1 << 63


def _state_of(info: dict[str, Any], url: str) -> State:
    if info.get("type") == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url)
    size = info.get("size")
    if not isinstance(size, int) or not is_size(size):
        raise OSError(errno.EIO, "it does not say how large it is", url)
    for name in _MARKS:
        if info.get(name):
            return State(size, (name, str(info[name])))
    return State(size)


def _forget_listing(fs: Any, path: str) -> None:
    """What fsspec remembers of the folder would be the state of some time ago."""
    fs.invalidate_cache(fs._parent(path))
