"""The argument `progress=`: shows how many bytes of some long work are done."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from onnxmap._base.extras import extra
from onnxmap._base.later import importing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    ProgressArgument = bool | Callable[[int, int], object]

# Between two updates of the display: fast enough for the eye, and no load for the work.
SECONDS_BETWEEN = 0.05


class Progress:
    """Shows how much of some work is done.

    If `progress` is a callable, it is called with `(bytes_done, bytes_total)` at most 20 times a
    second. `bytes_done` grows from call to call. The first call has 0, the last one the total,
    unless the work fails. If `progress` is True, tqdm draws a bar on a terminal or in a notebook.
    False shows nothing.

    All of this happens in the thread that entered the `with` block, so a callable needs no lock.
    Only that thread may call `show`. If the callable raises, the work ends.

    Args:
        progress: the argument `progress` of the user.
        total: bytes of the whole work.
        what: the work in one word, for the bar.
        delay: seconds of work before a bar appears, so that short work shows none.

    Attributes:
        callback: `show` for the core; None if nothing is shown, so that the core calls nothing.

    Raises:
        TypeError: `progress` is neither a bool nor callable.
        ModuleNotFoundError: `progress` is True, and tqdm is not installed.
    """

    def __init__(
        self, progress: ProgressArgument, total: int, what: str, *, delay: float = 0.0
    ) -> None:
        self._shown_by: Any  # a context manager, whose value shows numbers or is None
        if progress is True:
            _bar_class()  # a missing tqdm is reported before the work begins
            self._shown_by = _bar(what, total, delay)
        elif progress is False or callable(progress):
            self._shown_by = nullcontext(None if progress is False else progress)
        else:
            raise TypeError(f"progress must be a bool or a callable, not {type(progress).__name__}")
        self.callback = None if progress is False else self.show
        self._display: Callable[[int, int], object] | None = None
        self._total = total
        self._shown = -1
        self._next_time = 0.0

    def __enter__(self) -> Progress:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self._display = self._shown_by.__enter__()
        self.show(0)
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            if failure[0] is None:
                self.show(self._total)
        finally:
            self._shown_by.__exit__(*failure)

    def show(self, done: int, _total: int = 0) -> None:
        """Show that `done` bytes are done, if it is time to. The total is shown at once."""
        done = min(done, self._total)
        if self._display is None or done <= self._shown:
            return
        now = time.monotonic()
        if now >= self._next_time or done == self._total:
            self._next_time = now + SECONDS_BETWEEN
            self._shown = done
            self._display(done, self._total)


@contextmanager
def _bar(what: str, total: int, delay: float) -> Iterator[Callable[[int, int], None]]:
    """Return a function that draws `(bytes_done, bytes_total)`; in a pipe it does nothing."""
    drawn = _bar_class()(
        desc=what, total=total, unit="B", unit_scale=True, delay=delay, mininterval=0, miniters=1,
        dynamic_ncols=True,
        disable=sys.stderr is None or None,  # None: draw only on a terminal or in a notebook
    )  # fmt: skip

    def show(done: int, _: int) -> None:
        drawn.update(done - drawn.n)

    with drawn:
        yield show


def _bar_class() -> Any:
    with importing, extra("cli"):
        from tqdm.auto import tqdm
    # By default tqdm starts a thread, and shares a lock with other processes.
    bars: Any = type("Bar", (tqdm,), {"monitor_interval": 0})
    bars.set_lock(threading.RLock())
    return bars
