"""`progress=`: calls of a callable, a bar on terminals and in notebooks, silence elsewhere."""

from __future__ import annotations

import io
import sys
import threading
import types
from contextlib import redirect_stderr
from itertools import pairwise

import pytest
from support.sample_models import floats, model_of

import onnxmap
from onnxmap import _progress as module
from onnxmap._progress import Progress

TOTAL = 1_000_000
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


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
        for _ in range(steps):
            clock.now += 0.1
            bar.update(TOTAL // steps)


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
            for _ in range(10_000):  # the work takes ten seconds
                clock.now += 0.001
                bar.update(1)
        assert 150 <= len(calls) <= 202
        assert all(before < after for before, after in pairwise(calls.done))
        assert (calls.done[0], calls.done[-1]) == (0, 10_000)

    def test_the_last_call_comes_however_short_the_work(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 5, "working") as bar:
            for _ in range(5):
                bar.update(1)
        assert calls == [(0, 5), (5, 5)]

    def test_no_work_is_one_call(self) -> None:
        calls = Calls()
        with Progress(calls, 0, "working"):
            pass
        assert calls == [(0, 0)]

    def test_the_sum_never_exceeds_the_total(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 10, "working") as bar:
            for _ in range(8):
                clock.now += 1
                bar.update(3)
        assert calls.done == [0, 3, 6, 9, 10]

    def test_no_delay_for_a_callable(self, clock: Clock) -> None:
        calls = Calls()
        work(calls, clock, steps=2, delay=100.0)
        assert calls.done == [0, TOTAL // 2, TOTAL]

    def test_failed_work_is_not_reported_as_done(self, clock: Clock) -> None:
        calls = Calls()

        def fail() -> None:
            with Progress(calls, 10, "working") as bar:
                clock.now += 1
                bar.update(4)
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

    def test_only_the_first_thread_calls_it(self) -> None:
        callers: list[int] = []
        shown: list[int] = []

        def note(done: int, total: int) -> None:
            callers.append(threading.get_ident())
            shown.append(done)

        def count(bar: Progress) -> None:
            for _ in range(5_000):
                bar.update(1)

        with Progress(note, 40_000, "working") as bar:
            threads = [threading.Thread(target=count, args=(bar,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(bar.interval)
                    bar.refresh()
            assert bar._done == 40_000  # no update was lost, which the last call would hide
        assert set(callers) == {threading.get_ident()}
        assert shown == sorted(set(shown))
        assert shown[-1] == 40_000

    def test_a_waiting_thread_shows_the_work_of_others(self, clock: Clock) -> None:
        calls = Calls()
        with Progress(calls, 10, "working") as bar:
            assert bar.interval is not None
            assert bar.interval <= 0.05
            clock.now += bar.interval
            other = threading.Thread(target=bar.update, args=(6,))
            other.start()
            other.join()
            assert calls.done == [0]
            bar.refresh()
            assert calls.done == [0, 6]


class TestNothing:
    @pytest.mark.parametrize("columns", [10, 25, 40, 60])
    def test_a_narrow_terminal_gets_a_shorter_text(
        self, columns: int, clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        work(True, clock, stderr=terminal)
        last = terminal.getvalue().rstrip("\n").split("\r")[-1].rstrip()
        assert len(last) < columns
        whole = {10: "100%", 25: " of ", 40: "working", 60: "s left"}
        assert whole[columns] in last

    def test_false_shows_nothing(
        self, clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_bar", lambda *_: pytest.fail("a bar was made"))
        work(False, clock, stderr=terminal)
        assert terminal.getvalue() == ""
        with Progress(False, TOTAL, "working") as bar:
            assert bar.interval is None  # no thread wakes up for it

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


class TestTerminal:
    def test_a_line_is_overwritten(self, clock: Clock, terminal: Terminal) -> None:
        work(True, clock, steps=4, stderr=terminal)
        shown = terminal.getvalue().split("\r")[1:]
        assert [line.rstrip() for line in shown] == [
            "working  0 B of 1.0 MB",
            "working  250.0 kB of 1.0 MB, 2.5 MB/s, 0 s left",
            "working  500.0 kB of 1.0 MB, 2.5 MB/s, 0 s left",
            "working  750.0 kB of 1.0 MB, 2.5 MB/s, 0 s left",
            "working  1.0 MB of 1.0 MB, 2.5 MB/s, 0 s left",
        ]
        assert shown[-1].endswith("\n")
        assert len(shown[-1].rstrip("\n")) == len(shown[-2])  # the longer line before is wiped

    def test_transient_lines_are_wiped(self, clock: Clock, terminal: Terminal) -> None:
        work(True, clock, steps=4, stderr=terminal, transient=True)
        *_, last, wiped, end = terminal.getvalue().split("\r")
        assert last.startswith("working")
        assert (wiped, end) == (" " * len(last.rstrip()), "")

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
        work(True, clock, steps=10, stderr=terminal, delay=1.5)
        assert terminal.getvalue() == ""
        work(True, clock, steps=20, stderr=terminal, delay=1.5)
        assert "working" in terminal.getvalue()

    def test_the_line_ends_when_a_stream_is_left(
        self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("onnxmap._bulk._DELAY", 0)
        model = onnxmap.loads(model_of([floats("v", 6), floats("w", 6)]).SerializeToString())
        with redirect_stderr(terminal):
            for name, _ in model.stream(progress=True):
                assert name == "v"
                assert not terminal.getvalue().endswith("\n")
                break
        assert terminal.getvalue().endswith("\n")

    def test_the_line_ends_when_the_work_fails(self, clock: Clock, terminal: Terminal) -> None:
        def fail() -> None:
            with redirect_stderr(terminal), Progress(True, TOTAL, "working"):
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert terminal.getvalue() == "\rworking  0 B of 1.0 MB\n"


class Output:
    """What a cell of a notebook shows: IPython's handle of a display."""

    def __init__(self, data: dict[str, str]) -> None:
        self.shown = [data]

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data)


class TestNotebook:
    @pytest.fixture(params=["ZMQInteractiveShell", "Shell"])
    def outputs(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> list[Output]:
        """The outputs that IPython was asked for, in a notebook of Jupyter or Colab."""
        made: list[Output] = []

        def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Output:
            assert raw
            assert display_id
            made.append(Output(data))
            return made[-1]

        shell = type(request.param, (), {})()
        ipython = types.SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
        return made

    def test_one_output_is_updated(self, outputs: list[Output], clock: Clock) -> None:
        stderr = Terminal()
        work(True, clock, steps=4, stderr=stderr)
        assert stderr.getvalue() == ""
        [output] = outputs
        assert output.shown[2] == {
            "text/plain": "working  250.0 kB of 1.0 MB, 2.5 MB/s, 0 s left",
            "text/html": '<progress value="250000" max="1000000"></progress> '
            "working  250.0 kB of 1.0 MB, 2.5 MB/s, 0 s left",
        }
        assert 'value="1000000"' in output.shown[-1]["text/html"]

    def test_a_transient_output_is_emptied(self, outputs: list[Output], clock: Clock) -> None:
        work(True, clock, steps=4, transient=True)
        assert outputs[0].shown[-1] == {"text/plain": "", "text/html": ""}

    def test_ipython_without_a_terminal_is_not_a_notebook(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shell = type("TerminalInteractiveShell", (), {})()
        ipython = types.SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        output = io.StringIO()
        work(True, clock, stderr=output)
        assert output.getvalue() == ""
