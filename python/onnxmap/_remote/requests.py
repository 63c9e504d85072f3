"""Remote files: ranges of bytes that fsspec requests in its own thread, and the wait for them.

Object stores: fsspec requests the ranges, and its packages try again by themselves. `http.py` has
the files over HTTP, where fsspec does neither well enough.

The wait is ours: that of fsspec has one timeout, and knows neither speeds nor the core's Ctrl-C.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import itertools
import math
import os
import ssl
import threading
import time
import weakref
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, ClassVar

from onnxmap import _core
from onnxmap._base.extras import extra
from onnxmap.errors import FileChangedError, OnnxMapError, TransferTimeoutError, printable

with extra("remote"):
    import fsspec.asyn
    from fsspec.implementations.cached import CachingFileSystem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
    from concurrent.futures import Future

    from onnxmap._base.limits import Limits

# Seconds before each further attempt, and the longest pause that a server may ask for.
PAUSES = (0.1, 0.3, 1.0)
LONGEST_PAUSE = 5.0
# Bytes of one request. The answer takes about 50 ms to begin; a megabyte arrives in the same time.
_PIECE = 8 << 20
_LOOK_EVERY = 0.2  # seconds between two checks whether the caller still waits
# Seconds. If two checks are further apart than this, the process was suspended. What the server
# sent meanwhile is not counted yet.
_STOPPED = 2.0
_MOST_QUOTED = 400  # characters of an error of another package that our message repeats

_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)
# The numbers of errors that file systems raise, often without a number.
_ANSWERS = {
    FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES,
    IsADirectoryError: errno.EISDIR, NotADirectoryError: errno.ENOENT,
}  # fmt: skip
# Errors that another attempt would only repeat: also our own mistakes, or the caller's.
_FINAL: tuple[type[Exception], ...] = (*_ANSWERS, ValueError, TypeError)
# NotImplementedError: a file system of fsspec that cannot read ranges at all.
_PASSED_ON = (OnnxMapError, ImportError, MemoryError, NotImplementedError)
# The names that file systems of fsspec give to marks of a file's state, the best mark first.
_MARKS = "ETag", "etag", "LastModified", "last_modified", "updated", "mtime", "modified", "created"

_serial = itertools.count()
# Bytes that each server has sent. A request for one file may have to wait for those for another
# file. If the server sends enough for all of them together, none of them is too slow.
received: Counter[Hashable] = Counter()


class Refused(OSError):
    """An answer that is of no use.

    Attributes:
        pause: seconds to wait at least before another attempt. None: it would not help.
    """

    def __init__(self, number: int, message: str, pause: float | None = None) -> None:
        super().__init__(number, message)
        self.pause = pause


class RemoteFile:
    """A file in the state in which it was opened. Safe to share between threads.

    This class reads the asynchronous file systems of fsspec, such as object stores.

    Attributes:
        url: the URL of the file.
        size: the size in bytes.
        state: a text that differs from that of any other file, and of any other state of this file.
        at_once: how many requests at a time make reading faster.
        looked_at: when the file was last seen in that state, by time.monotonic().
        until: when the timeout of all reads together ends, or None if each read has its own.
    """

    at_once = 16
    _tries_again = False  # fsspec's packages for object stores do
    _uncounted = 1.0  # the part of a range that is counted only when its request is done

    def __init__(self, fs: Any, path: str, url: str, limits: Limits, head: int = 0) -> None:
        """Open the file.

        Args:
            fs: the file system.
            path: the path in it.
            url: the URL of the file.
            limits: how long requests may take.
            head: how many bytes to read at once, if not 0. All reads then share one timeout.
        """
        self.url = url
        self._given, self._path, self._limits = fs, path, limits
        self._server = (fs._fs_token, path.partition("://")[2].partition("/")[0])
        self.until = self._end() if head else None
        self._mark: tuple[str, str] | None = None
        self.looked_at = time.monotonic()
        self.size, mark, self._head = self._look_now(head or 1)
        self._mark = mark
        state = mark if mark[0] else ("opened", str(next(_serial)))
        self.state = repr((fs._fs_token, path, self.size, state))

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
        finally:
            rest.release()  # a traceback may keep it alive after the memory is freed

    def _read(self, offset: int, memory: memoryview) -> None:
        # Not fsspec's `_cat_ranges`: it holds all answers in memory until the last has come.
        pieces = iter(range(0, len(memory), _PIECE))
        asked: deque[tuple[int, int, Future[bytes]]] = deque()
        watch = self._watch(len(memory))
        try:
            while True:
                for begin in itertools.islice(pieces, self.at_once - len(asked)):
                    nbytes = min(_PIECE, len(memory) - begin)
                    asked.append((begin, nbytes, self._start(self._get, offset + begin, nbytes)))
                if not asked:
                    return
                begin, nbytes, answer = asked.popleft()
                body = _wait(answer, watch)
                if len(body) != nbytes:
                    self.check_unchanged()  # FileChangedError says more than this error
                    raise OSError(errno.EIO, f"got {len(body)} of {nbytes} bytes", self.url)
                memory[begin : begin + nbytes] = body
        finally:
            for _, _, answer in asked:
                answer.cancel()

    def check_unchanged(self) -> None:
        """Ask the server for the state of the file; raise FileChangedError if it changed."""
        looked_at = time.monotonic()
        self._check(*self._look_now(1)[:2])
        self.looked_at = looked_at

    def _check(self, size: int, mark: tuple[str, str]) -> None:
        known = self._mark  # marks of different names prove nothing
        if known is None or (size == self.size and (mark == known or mark[0] != known[0])):
            return
        what = f"its {mark[0]} is different"
        if size != self.size:
            what = f"it had {self.size} bytes and now has {size}"
        message = f"{self.url!r} has changed since it was opened: {what}"
        raise FileChangedError(message, path=self.url, filename=self.url)

    @property
    def _fs(self) -> Any:
        """The file system. A forked process gets a new one: connections do not survive a fork."""
        if getattr(self._given, "_pid", os.getpid()) != os.getpid():
            old = self._given
            self._given = type(old)(*old.storage_args, **old.storage_options)
        return self._given

    def _look_now(self, nbytes: int) -> tuple[int, tuple[str, str], bytes]:
        size, mark, body = _wait(self._start(self._look, nbytes), self._watch(nbytes))
        if not isinstance(size, int) or not 0 <= size < 1 << 63:
            raise OSError(errno.EIO, "the server does not say how large the file is", self.url)
        return size, mark, body

    async def _look(self, _nbytes: int) -> tuple[Any, tuple[str, str], bytes]:
        """Return the size of the file now, a mark of its state, and perhaps its first bytes."""
        # fsspec's listing of the folder may be out of date.
        self._fs.invalidate_cache(self._fs._parent(self._path))
        info = await self._call("info")
        if info.get("type") == "directory":
            raise IsADirectoryError
        return info.get("size"), mark_in(info, _MARKS), b""

    async def _get(self, offset: int, nbytes: int) -> Any:
        body = await self._call("cat_file", start=offset, end=offset + nbytes)
        received[self._server] += len(body)
        return body

    async def _call(self, name: str, **options: Any) -> Any:
        return await getattr(self._fs, f"_{name}")(self._path, **options)

    def _start(self, work: Callable[..., Awaitable[Any]], *args: int) -> Future[Any]:
        loop = getattr(self._fs, "loop", None) or fsspec.asyn.get_loop()
        return asyncio.run_coroutine_threadsafe(self._tried(work, *args), loop)

    async def _tried(self, work: Callable[..., Awaitable[Any]], *args: int) -> Any:
        attempts = 0
        while True:
            try:
                return await work(*args)
            except _PASSED_ON:
                raise
            except Exception as failure:
                asked = getattr(failure, "pause", None if isinstance(failure, _FINAL) else 0.0)
                if asked is None or attempts == len(PAUSES) * self._tries_again:
                    raise _error(failure, self.url, attempts + 1) from failure
            await asyncio.sleep(min(max(PAUSES[attempts], asked), LONGEST_PAUSE))
            attempts += 1

    def _end(self) -> float:
        return time.monotonic() + (self._limits.timeout or math.inf)

    def _watch(self, nbytes: int) -> Iterator[None]:
        """Raise TransferTimeoutError at a step if a read of `nbytes` bytes takes too long."""
        limits, until, window = self._limits, self.until or self._end(), math.inf
        if limits.low_speed_limit:
            window = limits.low_speed_time + self._uncounted * nbytes / limits.low_speed_limit
        begun = now = time.monotonic()
        known = received[self._server]
        while True:
            checked, now = now, time.monotonic()
            seconds = now - begun
            if now > until:
                what = f"not read within {limits.timeout:g} seconds"
                raise self._slow(what, "timeout", "timeout=...) with more seconds, or None")
            fast = received[self._server] - known >= limits.low_speed_limit * seconds
            if now > checked + _STOPPED or (fast and seconds >= window):
                begun, known = now, received[self._server]
            elif seconds >= window:
                what = f"the server sent fewer than {limits.low_speed_limit} bytes per second"
                what += f" for {seconds:.3g} seconds"
                raise self._slow(what, "low_speed", "low_speed_limit=...) with fewer bytes, or 0")
            yield

    def _slow(self, what: str, limit: str, more: str) -> TransferTimeoutError:
        message = f"{self.url!r}: {what}; to wait longer, pass limits=onnxmap.Limits({more}"
        return TransferTimeoutError(message, code=f"limit.{limit}", filename=self.url)


class BlockingFile(RemoteFile):
    """A file of a file system that is not asynchronous.

    Few such file systems say whether threads may share them, and no request can be interrupted.
    Each request runs in a thread of its own, one at a time. A caller may stop waiting for it, and
    the end of the process does not wait for it. With fsspec's own wrapper, it would.
    """

    at_once = 1
    _tries_again = True
    _uncounted = math.inf  # a cache may fetch a whole file for a few bytes
    _locks: ClassVar[weakref.WeakKeyDictionary[Any, threading.Lock]] = weakref.WeakKeyDictionary()

    async def _call(self, name: str, **options: Any) -> Any:
        answer: Future[Any] = concurrent.futures.Future()
        fs, lock = self._fs, self._locks.setdefault(self._fs, threading.Lock())
        is_cache = isinstance(fs, CachingFileSystem)
        if is_cache and name == "info":
            fs = fs.fs  # a cache would list the folder, which few HTTP servers allow
        elif not is_cache and getattr(type(fs), name) is fsspec.AbstractFileSystem.cat_file:
            options["cache_type"] = "none"  # it opens a file, which would read megabytes ahead
        work = getattr(fs, name)

        def run() -> None:
            with lock:
                if not answer.set_running_or_notify_cancel():
                    return  # nobody waits any longer
                try:
                    answer.set_result(work(self._path, **options))
                except BaseException as failure:  # noqa: BLE001 -- raised where it is awaited
                    answer.set_exception(failure)

        threading.Thread(target=run, daemon=True).start()
        return await asyncio.wrap_future(answer)


def mark_in(values: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, str]:
    """Return the name and value of the first mark that is there, or two empty strings."""
    found = ((name, str(values[name]).removeprefix("W/")) for name in names if values.get(name))
    return next(found, ("", ""))


def _wait(answer: Future[Any], watch: Iterator[None]) -> Any:
    """Return the result. The watch and Ctrl-C end the wait and cancel the request.

    In a thread of the core, the core says when Ctrl-C was pressed.
    """
    try:
        while not answer.done():
            if _core.is_stopped():
                raise concurrent.futures.CancelledError
            next(watch)
            concurrent.futures.wait((answer,), timeout=_LOOK_EVERY)
        return answer.result()
    finally:
        answer.cancel()


def _tls_failure(failure: Any) -> str:
    """What went wrong with a secure connection; aiohttp wraps the error of `ssl`."""
    inner = getattr(failure, "certificate_error", getattr(failure, "os_error", failure))
    if isinstance(inner, ssl.SSLCertVerificationError):
        why = f"the server's certificate is not trusted: {inner.verify_message}"
        return f"{why}; to trust another authority, name its file in SSL_CERT_FILE"
    return f"no secure connection: {getattr(inner, 'reason', None) or inner}"


def _error(failure: Exception, url: str, attempts: int) -> OSError:
    number = next((_ANSWERS[cls] for cls in _ANSWERS if isinstance(failure, cls)), 0)
    message = os.strerror(number)
    if isinstance(failure, _TIMEOUTS):
        number, message = errno.ETIMEDOUT, "no answer in time"
    elif isinstance(failure, ssl.SSLError):
        # Its own number is one of OpenSSL's, where 1 does not mean EPERM.
        number, message = errno.ECONNABORTED, _tls_failure(failure)
    elif not number:
        number = getattr(failure, "errno", None) or errno.EIO
        # An error of another package may quote what a server sent.
        message = getattr(failure, "strerror", None) or str(failure)
        message = printable(message[:_MOST_QUOTED]) or type(failure).__name__
    more = f" ({attempts} attempts)" if attempts > 1 else ""
    return OSError(number, message + more, url)
