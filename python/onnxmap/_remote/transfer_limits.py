"""How long a server may take, and how slowly it may send."""

from __future__ import annotations

import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

from onnxmap._limits import Limits
from onnxmap.errors import TransferTimeoutError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

_DEFAULT_LIMITS = Limits()
# Seconds. If two checks are further apart than this, the process was suspended. What the server
# sent meanwhile is not counted yet.
_STOPPED = 2.0


class Received:
    """The number of bytes that a server has sent to this process."""

    def __init__(self) -> None:
        self.nbytes = 0


_received: weakref.WeakValueDictionary[Hashable, Received] = weakref.WeakValueDictionary()


def received_from(server: Hashable) -> Received:
    """Return the count of bytes of a server, which all files of the server share.

    Requests for one file may have to wait until those for another file are done. If the server
    sends enough for all of them together, none of them is too slow.
    """
    return _received.setdefault(server, Received())


class TransferLimits:
    """The limits for the transfers of one file.

    Attributes:
        received: the count of bytes that its server has sent.
    """

    def __init__(self, url: str, limits: Limits | None, received: Received) -> None:
        self.url = url
        self.received = received
        self._limits = limits or _DEFAULT_LIMITS
        self._until: float | None = None

    @contextmanager
    def one_timeout(self) -> Iterator[None]:
        """Make all reads inside the block share one timeout."""
        timeout = self._limits.timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        try:
            yield
        finally:
            self._until = None

    def watch(self, unseen: int | None = 0) -> TransferWatch:
        """Return a watch over one read that begins now.

        Args:
            unseen: the most bytes of the read that may arrive before they are counted. None if they
                are never counted: then the speed is not checked.
        """
        until = self._until
        if until is None and self._limits.timeout is not None:
            until = time.monotonic() + self._limits.timeout
        return TransferWatch(self, self._limits, until, unseen)


class TransferWatch:
    """Watches over one read."""

    def __init__(
        self, transfer: TransferLimits, limits: Limits, until: float | None, unseen: int | None
    ) -> None:
        self._transfer = transfer
        self._limits = limits
        self._until = until
        self._window: float | None = None
        if limits.low_speed_limit and unseen is not None:
            self._window = limits.low_speed_time + unseen / limits.low_speed_limit
        self._begin_window(time.monotonic())

    def _begin_window(self, now: float) -> None:
        self._begun = self._checked = now
        self._received = self._transfer.received.nbytes

    def check(self) -> None:
        """Raise TransferTimeoutError if the read has taken too long or the server is too slow."""
        now = time.monotonic()
        limits = self._limits
        if self._until is not None and now > self._until:
            raise self._error(
                "limit.timeout",
                f"not read within {limits.timeout:g} seconds; to wait longer, pass "
                "limits=onnxmap.Limits(timeout=...) with more seconds, or None",
            )
        if now > self._checked + _STOPPED:
            self._begin_window(now)
        self._checked = now
        if self._window is None or now < self._begun + self._window:
            return
        needed = limits.low_speed_limit * (now - self._begun)
        if self._transfer.received.nbytes - self._received < needed:
            raise self._error(
                "limit.low_speed",
                f"the server sent fewer than {limits.low_speed_limit} bytes per second for "
                f"{now - self._begun:.3g} seconds; to wait longer, pass "
                "limits=onnxmap.Limits(low_speed_limit=...) with fewer bytes, or 0",
            )
        self._begin_window(now)

    def _error(self, code: str, message: str) -> TransferTimeoutError:
        url = self._transfer.url
        return TransferTimeoutError(f"{url!r}: {message}", code=code, filename=url)
