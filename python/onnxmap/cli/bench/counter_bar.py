"""A progress bar for work that is counted in steps. It is shown on a terminal only."""

from __future__ import annotations

import sys
from types import TracebackType


class CounterBar:
    """Shows the current step and the number of steps done, on standard error."""

    def __init__(self, total: int) -> None:
        self._bar = None
        if not sys.stderr.isatty():
            return
        try:
            from rich import progress
            from rich.console import Console
        except ImportError:  # without rich there is no bar
            return
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=Console(stderr=True),
            auto_refresh=False,  # a thread that draws would slow down what is measured
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=total)
        self._started = -1

    def __enter__(self) -> CounterBar:  # noqa: PYI034 -- typing.Self is Python 3.11's
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def next(self, what: str) -> None:
        """Show that the next step begins, and what it is."""
        if self._bar is not None:
            self._started += 1
            self._bar.update(self._task, description=what, completed=self._started, refresh=True)
