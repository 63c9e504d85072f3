"""Files over HTTP.

The requests use fsspec's session, but not its function for ranges. That function downloads the
whole file if the server does not support ranges, and reads an answer of any length. It hides the
headers that show a change of the file, and the bytes until all have come. It never tries again.

Source: RFC 9110, sections 13 and 14.
"""

from __future__ import annotations

import errno
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from onnxmap._remote.requests import Refused, RemoteFile, mark_in, received

# The most bytes of a whole file that a server may send if a part was asked for.
_SMALL = 64 << 10
# Seconds without a byte after which a connection is replaced by a new one. The default `Limits`
# leave enough time for that. With fsspec's own timeout, an answer may take five minutes in all.
_TIMEOUT = {"total": None, "sock_connect": 20.0, "sock_read": 25.0}
_NUMBERS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_TRANSIENT = {408, 425, 429}
_MOST_DIGITS = 30  # of a number of bytes; Python refuses numbers of thousands of digits
_CONTENT_RANGE = re.compile(r"bytes +(?:(\d+)-(\d+)|\*)/(\d+)")


class HttpFile(RemoteFile):
    """A file of an HTTP server."""

    _tries_again = True
    _uncounted = 0.0

    async def _get(self, offset: int, nbytes: int) -> bytes:
        _, _, body = await self._look(nbytes, offset)
        return body if len(body) == nbytes else body[offset:][:nbytes]  # of the whole small file

    async def _look(self, nbytes: int, offset: int = 0) -> tuple[int, tuple[str, str], bytes]:
        # A GET, because not every server that supports ranges answers HEAD.
        import aiohttp

        fs = self._fs
        session = await fs.set_session()
        options = dict(fs.kwargs)
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
        headers["Range"] = f"bytes={offset}-{offset + nbytes - 1}"
        if "timeout" not in fs.client_kwargs:
            options.setdefault("timeout", aiohttp.ClientTimeout(**_TIMEOUT))
        async with session.get(fs.encode_url(self._path), headers=headers, **options) as response:
            size = _size_in(response, offset)
            mark = mark_in(response.headers, ("ETag", "Last-Modified"))
            self._check(size, mark)
            sent = {200: size, 206: min(nbytes, size - offset), 416: 0}[response.status]
            return size, mark, await self._body(response, sent)

    async def _body(self, response: Any, nbytes: int) -> bytes:
        body = bytearray()
        while nbytes and (chunk := await response.content.readany()):
            body += chunk
            received[self._server] += len(chunk)
            if len(body) > nbytes:
                raise Refused(errno.EIO, f"the server sent more than {nbytes} bytes")
        if len(body) < nbytes:
            raise Refused(errno.EIO, f"the answer ended after {len(body)} of {nbytes} bytes", 0.0)
        return bytes(body)


def _size_in(response: Any, offset: int) -> int:
    """Check the head of an answer to a request from `offset` on; return the size of the file."""
    status, headers = response.status, response.headers
    found = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if status == 200:
        length: int | None = response.content_length
        if length is None or length > _SMALL:
            message = "the server does not support ranges and would send the whole file"
            raise Refused(errno.EOPNOTSUPP, f"{message}; download the file first")
        return length
    if status not in (206, 416) or (status == 416 and found is None):
        message = f"the server answered {status} {str(response.reason)[:100]!r}"
        is_transient = status in _TRANSIENT or status >= 500
        pause = _seconds_until(headers.get("Retry-After", "")) if is_transient else None
        raise Refused(_NUMBERS.get(status, errno.EIO), message, pause)
    encoding = headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise Refused(errno.EIO, f"the server encodes the file as {encoding[:50]!r}")
    if found is None or (status == 206 and found[1] != str(offset)):
        raise Refused(errno.EIO, "the server sent another range than was asked for, or no size")
    return int(found[3][:_MOST_DIGITS])


def _seconds_until(asked: str) -> float:
    """How long a server asks to wait: a number of seconds, or a date; 0 for any other text."""
    if asked.isdecimal():
        return float(asked)
    try:
        return parsedate_to_datetime(asked).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0.0
