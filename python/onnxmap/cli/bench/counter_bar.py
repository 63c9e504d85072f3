"""Progress of work that is counted in steps. It is shown on a terminal only."""

from __future__ import annotations

import sys
from types import TracebackType

from onnxmap._progress import TerminalLine


class CounterBar:
    """Shows the current step and the number of steps done, on one line of standard error."""

    def __init__(self, total: int) -> None:
        self._line = TerminalLine() if sys.stderr.isatty() else None
        self._total = total
        self._started = 0

    def __enter__(self) -> CounterBar:  # noqa: PYI034 -- typing.Self is Python 3.11's
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.end(wiped=True)

    def next(self, what: str) -> None:
        """Show that the next step begins, and what it is."""
        self._started += 1
        if self._line is not None:
            self._line.show(f"{self._started} of {self._total}  {what}")
