"""The bar of long work: on a terminal only, and only if the work takes a while."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from onnxmap._progress import Progress

if TYPE_CHECKING:
    from types import TracebackType

# Shorter work shows no bar.
SECONDS_BEFORE_A_BAR = 1.0


class SavingBar:
    """What `onnxmap.save(progress=…)` calls. The bar goes when the `with` block ends.

    Args:
        what: the work in one word.
    """

    def __init__(self, what: str = "saving") -> None:
        self._what = what
        self._bar: Progress | None = None
        self._done = 0
        self._stack = ExitStack()

    def __enter__(self) -> SavingBar:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self._stack.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` bytes are done."""
        if self._bar is None:
            self._bar = self._stack.enter_context(
                Progress(True, total, self._what, delay=SECONDS_BEFORE_A_BAR, transient=True)
            )
        self._bar.update(done - self._done)
        self._done = done
