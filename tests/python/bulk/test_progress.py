"""`progress=`: calls of a callable, a bar on terminals and in notebooks, silence elsewhere."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import redirect_stderr
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import tqdm
from support.models.sample import floats, model_of

import onnxmap
from onnxmap._show import progress as module
from onnxmap._show.progress import Progress
from onnxmap.cli import bar

TOTAL = 1_000_000


class Clock:
    """Replaces the module `time`. Time passes only if the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 100 columns as standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal()


def work(
    progress: object,
    clock: Clock,
    steps: int = 100,
    stderr: io.StringIO | None = None,
    **options: object,
) -> None:
    """Ten steps of work that take a second together."""
    with redirect_stderr(stderr), Progress(progress, TOTAL, "working", **options) as bar:
        for i in range(steps):
            clock.now += 0.1
            bar.show((i + 1) * TOTAL // steps)


class Calls(list[tuple[int, int]]):
    def __call__(self, done: int, total: int) -> None:
        self.append((done, total))

    @property
    def done(self) -> list[int]:
        return [done for done, _ in self]


class TestCallable:
    def test_calls_go_from_zero_to_the_total(self, clock: Clock) -> None:
        calls = Calls()
        work(calls, clock)
        assert {total for _, total in calls} == {TOTAL}
        assert calls.done == [i * TOTAL // 100 for i in range(101)]

    def test_at_most_twenty_times_a_second(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 10_000, "working") as bar:
            for done in range(1, 10_001):  # the work takes ten seconds
                clock.now += 0.001
                bar.show(done)
        assert 150 <= len(calls) <= 202
        assert all(before < after for before, after in pairwise(calls.done))
        assert (calls.done[0], calls.done[-1]) == (0, 10_000)

    def test_the_last_call_comes_however_short_the_work(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 5, "working") as bar:
            for done in range(1, 5):
                bar.show(done)
        assert calls == [(0, 5), (5, 5)]

    def test_the_total_is_shown_at_once_and_once(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 5, "working") as bar:
            bar.show(4)
            assert calls.done == [0]
            bar.show(5)
            assert calls.done == [0, 5]
            bar.show(5)
        assert calls.done == [0, 5]

    def test_no_work_is_one_call(self) -> None:
        calls = Calls()
        with Progress(calls, 0, "working"):
            pass
        assert calls == [(0, 0)]

    def test_the_sum_never_exceeds_the_total(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 10, "working") as bar:
            for done in (3, 6, 9, 12, 15):
                clock.now += 1
                bar.show(done)
        assert calls.done == [0, 3, 6, 9, 10]

    def test_a_lower_number_is_not_shown(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 10, "working") as bar:
            for done in (6, 4, 7):
                clock.now += 1
                bar.show(done)
        assert calls.done == [0, 6, 7, 10]

    def test_a_callable_may_be_false(self) -> None:
        """An empty list with `__call__` is."""
        calls = Calls()
        assert not calls
        with Progress(calls, 10, "working"):
            pass
        assert calls.done == [0, 10]

    def test_no_delay_for_a_callable(self, clock: Clock) -> None:
        calls = Calls()
        work(calls, clock, steps=2, delay=100.0)
        assert calls.done == [0, TOTAL // 2, TOTAL]

    def test_failed_work_is_not_reported_as_done(self, clock: Clock) -> None:
        calls = Calls()

        def fail() -> None:
            with Progress(calls, 10, "working") as bar:
                clock.now += 1
                bar.show(4)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert calls.done == [0, 4]

    def test_an_error_of_the_callable_ends_the_work(self, clock: Clock) -> None:
        def enough(done: int, total: int) -> None:
            if done >= 3 * TOTAL // 10:
                raise StopAsyncIteration

        with pytest.raises(StopAsyncIteration):
            work(enough, clock)
        assert clock.now == pytest.approx(103.0)  # the whole work takes ten seconds


class TestNothing:
    def test_false_shows_nothing(self, clock: Clock, terminal: Terminal) -> None:
        work(False, clock, stderr=terminal)
        assert terminal.getvalue() == ""
        assert Progress(False, TOTAL, "working").callback is None  # the core calls nothing

    @pytest.mark.parametrize("stream", [None, io.StringIO()], ids=["none", "pipe"])
    def test_without_a_terminal_there_is_no_bar(
        self, clock: Clock, stream: io.StringIO | None
    ) -> None:
        work(True, clock, stderr=stream)
        assert stream is None or stream.getvalue() == ""

    @pytest.mark.parametrize("wrong", [None, 1, "yes", 0.5], ids=repr)
    def test_other_values_are_refused(self, wrong: object) -> None:
        with pytest.raises(TypeError, match=type(wrong).__name__):
            Progress(wrong, TOTAL, "working")

    def test_without_tqdm_true_says_what_to_install(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        model = onnxmap.loads(model_of([floats("v", 6)]).SerializeToString())
        for read in (model.arrays, model.stream, model.stats, model.verify):
            with pytest.raises(ImportError, match=r"pip install 'onnxmap\[cli\]'"):
                read(progress=True)
        calls = Calls()
        work(calls, clock)
        assert calls.done[-1] == TOTAL


class TestTerminal:
    def test_the_work_the_bytes_and_the_rate(self, clock: Clock, terminal: Terminal) -> None:
        work(True, clock, steps=4, stderr=terminal)
        shown = terminal.getvalue().split("\r")[1:]
        shares = [line[: line.index("%")] for line in shown if "%" in line]
        assert shares[:5] == [f"working: {share:3}" for share in (0, 25, 50, 75, 100)]
        assert "1.00M/1.00M" in shown[-1]
        assert "B/s" in shown[-1]
        assert shown[-1].endswith("\n")

    def test_the_bar_of_a_command_is_wiped(
        self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bar, "SECONDS_BEFORE_A_BAR", 0)
        with redirect_stderr(terminal), bar.progress_bar("working") as show:
            assert callable(show)
            show(5, 10)
        *_, last, wiped, end = terminal.getvalue().split("\r")
        assert last.startswith("working")
        assert (wiped.strip(), end) == ("", "")

    def test_standard_output_stays_what_it_is(
        self, clock: Clock, terminal: Terminal, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ours = sys.stdout
        with redirect_stderr(terminal), Progress(True, TOTAL, "working"):
            assert sys.stdout is ours
            assert sys.stderr is terminal
        assert capsys.readouterr().out == ""

    def test_no_thread_draws(self, clock: Clock, terminal: Terminal) -> None:
        before = set(threading.enumerate())
        with redirect_stderr(terminal), Progress(True, TOTAL, "working"):
            assert "working" in terminal.getvalue()
            assert set(threading.enumerate()) == before

    def test_short_work_shows_none(self, clock: Clock, terminal: Terminal) -> None:
        work(True, clock, steps=10, stderr=terminal, delay=60)
        assert terminal.getvalue() == ""
        work(True, clock, steps=10, stderr=terminal, delay=1e-9)
        assert "working" in terminal.getvalue()

    def test_the_line_ends_when_a_stream_is_left(
        self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("onnxmap._read.bulk_arrays._DELAY", 0)
        model = onnxmap.loads(model_of([floats("v", 6), floats("w", 6)]).SerializeToString())
        with redirect_stderr(terminal):
            for name, _ in model.stream(progress=True):
                assert name == "v"
                assert terminal.getvalue().startswith("\rstreaming")
                assert not terminal.getvalue().endswith("\n")
                break
        assert terminal.getvalue().endswith("\n")

    def test_the_line_ends_when_the_work_fails(self, clock: Clock, terminal: Terminal) -> None:
        def fail() -> None:
            with redirect_stderr(terminal), Progress(True, TOTAL, "working"):
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        last = terminal.getvalue().split("\r")[-1]
        assert last.startswith("working:   0%")
        assert last.endswith("\n")


class TestNotebook:
    def test_the_bar_that_tqdm_chose_is_drawn(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Standard error of a notebook is not a terminal."""
        made = []

        class NotebookBar(tqdm.tqdm):
            """Draws unless `disable` is true, like the bar of `tqdm.notebook`."""

            def __init__(self, **options: Any) -> None:
                options |= {"disable": bool(options["disable"]), "file": io.StringIO()}
                super().__init__(**options)
                made.append(self)

        monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=NotebookBar))
        work(True, clock, steps=4, stderr=io.StringIO())
        assert [(bar.n, bar.total) for bar in made] == [(TOTAL, TOTAL)]
