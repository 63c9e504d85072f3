"""Requests for ranges of a file over HTTP.

They use the session of fsspec, but not its own function for ranges. That function downloads the
whole file if the server does not support ranges, and drops the headers that show a change of the
file.

Source: RFC 9110, sections 13 and 14.
"""

from __future__ import annotations

import email.utils
import errno
import re
import time
from typing import TYPE_CHECKING, Any

from onnxmap._remote.requests import AsyncRequests, State, Trouble, is_size, wait
from onnxmap.errors import FileChangedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from concurrent.futures import Future

    from onnxmap._remote.transfer_limits import Received, TransferLimits, TransferWatch

# The most bytes of a whole file that a server may send if a part was asked for.
_SMALL = 64 << 10
# Seconds without a byte after which a connection is replaced by a new one. The default `Limits`
# leave enough time for that.
_CONNECT_SECONDS, _SILENT_SECONDS = 20, 25
_NUMBERS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_TRANSIENT = {408, 425, 429}
_MOST_DIGITS = 30  # of a number of bytes; Python refuses numbers of thousands of digits
_CONTENT_RANGE = re.compile(r"bytes +(?:(\d+)-(\d+)|\*)/(\d+|\*)")


class HttpRequests(AsyncRequests):
    """Requests about one file of an HTTP server."""

    def __init__(self, fs: Any, path: str, url: str, limits: TransferLimits) -> None:
        super().__init__(fs, path, url, limits)
        self._opened: State | None = None

    def look(self, nbytes: int) -> tuple[State, bytes]:
        """See Requests. It is a GET, because not every server that supports ranges answers HEAD."""
        state, head = wait(self.run(lambda: self._look(nbytes)), self.watch(nbytes))
        self._opened = self._opened or state
        return state, head

    def start(self, offset: int, nbytes: int) -> Future[bytes]:
        """See Requests."""
        return self.run(lambda: self._get(offset, nbytes))

    def watch(self, nbytes: int) -> TransferWatch:
        """See Requests. Bytes are counted when they arrive."""
        return self.limits.watch()

    async def _look(self, nbytes: int) -> tuple[State, bytes]:
        async with await self._ask(0, nbytes) as response:
            headers = response.headers
            if response.status == 416:
                return State(_total(headers), _mark(headers)), b""
            if response.status == 200:
                length = response.content_length
                if length is None or length > _SMALL:
                    response.close()
                    raise _no_ranges()
                return State(length, _mark(headers)), await self._body(response, length)
            _check_status(response)
            size = _total(headers)
            _check_begin(response, 0)
            return State(size, _mark(headers)), await self._body(response, min(nbytes, size))

    async def _get(self, offset: int, nbytes: int) -> bytes:
        async with await self._ask(offset, nbytes) as response:
            headers = response.headers
            if response.status == 200:
                whole = (0, response.content_length) == (offset, nbytes)
                if not whole or nbytes > _SMALL:
                    response.close()
                    raise _no_ranges()
                self._check_state(State(nbytes, _mark(headers)))
                return await self._body(response, nbytes)
            _check_status(response)
            self._check_state(State(_total(headers), _mark(headers)))
            _check_begin(response, offset)
            return await self._body(response, nbytes)

    async def _body(self, response: Any, nbytes: int) -> bytes:
        return await _body(response, nbytes, self.limits.received)

    async def _ask(self, offset: int, nbytes: int) -> Any:
        import aiohttp

        fs = self.fs
        session = await fs.set_session()
        options = dict(fs.kwargs)
        headers = dict(options.pop("headers", {}))
        headers["Range"] = f"bytes={offset}-{offset + nbytes - 1}"
        headers["Accept-Encoding"] = "identity"
        if "timeout" not in options and "timeout" not in fs.client_kwargs:
            options["timeout"] = aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS
            )
        return await session.get(fs.encode_url(self.path), headers=headers, **options)

    def _check_state(self, now: State) -> None:
        if self._opened is not None and self._opened.differs(now):
            raise changed(self.url, self._opened, now)


def changed(url: str, before: State, now: State) -> FileChangedError:
    """Return the error for a file that changed."""
    message = f"{url!r} has changed since it was opened: "
    if before.size != now.size:
        message += f"it had {before.size} bytes and now has {now.size}"
    else:
        message += f"its {(before.mark or now.mark or ('state',))[0]} is different"
    return FileChangedError(message, code="file.changed", path=url, filename=url)


def _check_status(response: Any) -> None:
    status = response.status
    if status == 206:
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise Trouble(errno.EIO, f"the server encodes the file as {encoding[:50]!r}")
        return
    number = _NUMBERS.get(status, errno.EIO)
    transient = status in _TRANSIENT or status >= 500
    pause = _retry_after(response.headers) if transient else None
    message = f"the server answered {status} {str(response.reason)[:100]!r}"
    raise Trouble(number, message, transient=transient, pause=pause, shorter=status == 416)


def _content_range(headers: Mapping[str, str]) -> re.Match[str] | None:
    return _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))


def _check_begin(response: Any, offset: int) -> None:
    found = _content_range(response.headers)
    if found is None or found[1] != str(offset):
        response.close()
        raise Trouble(errno.EIO, "the server sent another range than was asked for")


def _no_ranges() -> Trouble:
    return Trouble(
        errno.EOPNOTSUPP,
        "the server does not support ranges and would send the whole file; download the file first",
    )


def _total(headers: Mapping[str, str]) -> int:
    found = _content_range(headers)
    if found is None or found[3] == "*":
        raise Trouble(errno.EIO, "the server does not say how large the file is")
    if not is_size(size := int(found[3][:_MOST_DIGITS])):
        raise Trouble(errno.EIO, "the server says that the file is larger than a file can be")
    return size


def _mark(headers: Mapping[str, str]) -> tuple[str, str] | None:
    for name in ("ETag", "Last-Modified"):
        if headers.get(name):
            return name, headers[name].removeprefix("W/")
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    date = email.utils.parsedate_tz(text)
    return None if date is None else email.utils.mktime_tz(date) - time.time()


async def _body(response: Any, nbytes: int, received: Received) -> bytes:
    """Read the body, which must have `nbytes` bytes. Stop reading if it has more."""
    body = bytearray()
    chunks: AsyncIterator[bytes] = response.content.iter_any()
    async for chunk in chunks:
        body += chunk
        received.nbytes += len(chunk)
        if len(body) > nbytes:
            response.close()
            raise Trouble(errno.EIO, f"the server sent more than the {nbytes} bytes asked for")
    if len(body) < nbytes:
        message = f"the answer ended after {len(body)} of {nbytes} bytes"
        raise Trouble(errno.EIO, message, transient=True, shorter=True)
    return bytes(body)
