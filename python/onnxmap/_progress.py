"""The argument `progress=`: shows how many bytes of some long work are done."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

from onnxmap._text import bytes_in_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    ProgressArgument = bool | Callable[[int, int], object]

# Between two updates of the display: fast enough for the eye, and no load for the work.
_SECONDS_BETWEEN = 0.05


class Progress:
    """Shows how much of some work is done.

    If `progress` is a callable, it is called with `(bytes_done, bytes_total)` at most 20 times a
    second. `bytes_done` grows from call to call. The first call has 0, the last one the total,
    unless the work fails. If `progress` is True, a terminal or a notebook shows a bar with the rate
    and the time left. False shows nothing.

    All of this happens in the thread that entered the `with` block, so a callable needs no lock. If
    the callable raises, the work ends. Any thread may call `update`. While the first thread waits
    for others, it must call `refresh` every `interval` seconds.

    Args:
        progress: the argument `progress` of the user.
        total: bytes of the whole work.
        what: the work in one word, for the bar.
        delay: seconds of work before a bar appears, so that short work shows none.
        transient: remove the bar when the work is done.

    Raises:
        TypeError: `progress` is neither a bool nor callable.
    """

    def __init__(
        self,
        progress: ProgressArgument,
        total: int,
        what: str,
        *,
        delay: float = 0.0,
        transient: bool = False,
    ) -> None:
        self._make_display: Callable[[], _Display | None] | None
        if isinstance(progress, bool):
            self._make_display = (lambda: _bar(what, total, transient)) if progress else None
        elif callable(progress):
            callback, delay = progress, 0.0
            self._make_display = lambda: _Callback(callback, total)
        else:
            raise TypeError(f"progress must be a bool or a callable, not {type(progress).__name__}")
        self._total = total
        self._delay = delay
        self._display: _Display | None = None
        self._next_look = 0.0
        self._done = 0
        self._shown = -1
        self._thread = 0
        self._lock = threading.Lock()

    @property
    def interval(self) -> float | None:
        """Seconds the first thread may wait before it calls `refresh`; None sets no bound."""
        return None if self._make_display is None else _SECONDS_BETWEEN

    def __enter__(self) -> Progress:  # noqa: PYI034 -- typing.Self is Python 3.11's
        self._thread = threading.get_ident()
        self._next_look = time.monotonic() + self._delay
        self.refresh()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # Work that took less time than the delay never had a display.
            if kind is None and self._display is not None:
                self._show(self._total)
        finally:
            if self._display is not None:
                self._display.close()

    def update(self, nbytes: int) -> None:
        """Count `nbytes` more as done."""
        if self._make_display is None:
            return
        with self._lock:
            self._done += nbytes
        if threading.get_ident() == self._thread:
            self.refresh()

    def refresh(self) -> None:
        """Update the display if it is due. Only the thread of the `with` block may call this."""
        if self._make_display is None or (now := time.monotonic()) < self._next_look:
            return
        self._next_look = now + _SECONDS_BETWEEN
        if self._display is None:
            self._display = self._make_display()
            if self._display is None:  # there is no terminal or notebook
                self._make_display = None
                return
        self._show(min(self._done, self._total))

    def show_now(self) -> None:
        """Show what is done, whether it is due or not. Only for the thread of the `with` block."""
        self._next_look = 0.0
        self.refresh()

    def _show(self, done: int) -> None:
        if done > self._shown and self._display is not None:
            self._shown = done
            self._display.show(done)


class _Display(Protocol):
    def show(self, done: int) -> None: ...

    def close(self) -> None: ...


class _Callback:
    def __init__(self, callback: Callable[[int, int], object], total: int) -> None:
        self._callback = callback
        self._total = total

    def show(self, done: int) -> None:
        self._callback(done, self._total)

    def close(self) -> None:
        pass


class TerminalLine:
    """One line on standard error, which each text overwrites."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, text: str) -> None:
        """Write the text, cut to the width of the terminal: a second line could not be erased."""
        line = text[: shutil.get_terminal_size().columns - 1]
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def end(self, *, wiped: bool) -> None:
        """Begin a new line, or wipe the text and leave the line to others."""
        self._write("\r" + " " * self._width + "\r" if wiped else "\n")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class _Bar(ABC):
    """Says how many bytes are done, how many a second, and how long the rest will take."""

    def __init__(self, what: str, total: int, transient: bool) -> None:
        self._what = what
        self._total = total
        self._transient = transient
        self._start = time.monotonic()
        self._start_done: int | None = None

    def show(self, done: int) -> None:
        if self._start_done is None:
            self._start_done = done
        bytes_done = f"{bytes_in_words(done)} of {bytes_in_words(self._total)}"
        texts = [f"{self._what}  {bytes_done}", bytes_done, f"{done / max(self._total, 1):.0%}"]
        seconds = time.monotonic() - self._start
        if (since := done - self._start_done) > 0 and seconds > 0:
            rate = since / seconds
            left = f"{(self._total - done) / rate:.0f} s left"
            texts.insert(0, f"{texts[0]}, {bytes_in_words(int(rate))}/s, {left}")
        self._draw(texts, done)

    @abstractmethod
    def _draw(self, texts: list[str], done: int) -> None:
        """Show one of the texts, which become shorter from one to the next."""

    @abstractmethod
    def close(self) -> None: ...


class _TerminalBar(_Bar):
    def __init__(self, what: str, total: int, transient: bool) -> None:
        super().__init__(what, total, transient)
        self._line = TerminalLine()

    def _draw(self, texts: list[str], done: int) -> None:
        room = shutil.get_terminal_size().columns - 1
        self._line.show(next((text for text in texts if len(text) <= room), texts[-1]))

    def close(self) -> None:
        self._line.end(wiped=self._transient)


class _NotebookBar(_Bar):
    """An output of the cell, which each update replaces."""

    def __init__(self, what: str, total: int, transient: bool) -> None:
        from IPython.display import display

        super().__init__(what, total, transient)
        self._output = display(self._data("", 0), raw=True, display_id=True)

    def _draw(self, texts: list[str], done: int) -> None:
        self._output.update(self._data(texts[0], done), raw=True)

    def close(self) -> None:
        if self._transient:
            self._output.update({"text/plain": "", "text/html": ""}, raw=True)

    def _data(self, text: str, done: int) -> dict[str, str]:
        bar = f'<progress value="{done}" max="{self._total}"></progress>'
        return {"text/plain": text, "text/html": f"{bar} {text}"}


def _bar(what: str, total: int, transient: bool) -> _Display | None:
    """The bar of this terminal or notebook; None if there is neither."""
    if _in_notebook():
        return _NotebookBar(what, total, transient)
    if sys.stderr is not None and sys.stderr.isatty():
        return _TerminalBar(what, total, transient)
    return None


def _in_notebook() -> bool:
    # Look for IPython only if it is imported already.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ in ("ZMQInteractiveShell", "Shell")  # Jupyter, Colab
