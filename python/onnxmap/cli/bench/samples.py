"""Takes the samples of `onnxmap bench`. Each has a new process, and the contenders take turns."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

from onnxmap.cli.bench.peers import Files
from onnxmap.cli.outcome import UsageError

# What is measured, in this order. The texts are for the page.
WORKS = {
    "open": "open: structure, no weights needed",
    "arrays": "every initializer as an array",
    "touch": "the same, and every byte read",
    "copies": "every initializer as an array of its own, writable",
    "stream": "one array after another, every byte read, none kept",
}

TIME_LIMIT_SECONDS = 600.0
# A contender that takes this long has only one turn, which counts: noise is small compared to that.
SLOW_SECONDS = 20.0
_CHUNK_BYTES = 8 << 20

# The process uses the parent's module path. The current folder and this one are not searched first.
_PROGRAM = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import json; sys.path[:], request = json.loads(sys.stdin.readline()); "
    "from onnxmap.cli.bench.worker import main; main(request)"
)


@dataclass
class Samples:
    """The reports of one contender's processes about one work, or why there are none."""

    work: str
    contender: str
    reports: list[Mapping[str, Any]] = field(default_factory=list)
    error: str | None = None
    witness: str = ""  # proves what it read; empty if it cannot
    is_done: bool = False  # it takes no further turns

    def add(self, report: Mapping[str, Any], *, warms_up: bool) -> None:
        """Add the report of a process. A warm-up only proves what was read, unless it is slow."""
        if "error" in report:
            self.fail(report["error"])
            return
        self.witness = report["witness"]
        self.is_done = warms_up and report["seconds"] > SLOW_SECONDS
        if not warms_up or self.is_done:
            self.reports.append(report)

    @property
    def seconds(self) -> list[float]:
        """The time of each sample."""
        return [report["seconds"] for report in self.reports]

    def middle(self, name: str) -> Any:
        """Return the median of a figure, or None if it is unknown."""
        values = [report[name] for report in self.reports if report[name] is not None]
        return median(values) if values else None

    def times(self, ours: Samples) -> float | None:
        """Return the median over the rounds of its time divided by ours."""
        pairs = zip(self.seconds, ours.seconds, strict=False)
        quotients = [its / our for its, our in pairs]
        return median(quotients) if quotients else None

    def fail(self, error: str) -> None:
        """Whatever was reported is worth nothing."""
        self.error = error
        self.is_done = True
        self.witness = ""
        self.reports.clear()


@dataclass(frozen=True)
class Plan:
    """What is to be measured on which files.

    Attributes:
        rounds: samples of each contender that count. One more before them is checked and dropped.
        cold: take the files out of the page cache before each sample, instead of into it.
    """

    files: Files
    contenders: Sequence[str]
    rounds: int
    cold: bool

    @property
    def total(self) -> int:
        """The number of processes if every contender can do every work."""
        return len(WORKS) * len(self.contenders) * (self.rounds + 1)


def take_samples(plan: Plan, tell: Callable[[str], object]) -> list[Samples]:
    """Take all samples, for each work of the contenders that are installed and can do it.

    Args:
        plan: what to measure.
        tell: called `plan.total` times, each time with a description of the next sample.

    Raises:
        UsageError: onnxmap itself cannot read the files.
    """
    results: list[Samples] = []
    absent: set[str] = set()
    for work in WORKS:
        found = {name: Samples(work, name) for name in plan.contenders if name not in absent}
        first: Samples | None = None  # the first that read; all others must read the same
        for number in range(-1, plan.rounds):  # -1 only warms up
            for name in plan.contenders:
                tell(f"{work}: {name}")
                samples = found.get(name)
                if samples is None or samples.is_done:
                    continue
                report = _take(plan, name, work)
                if report.get("unreadable"):
                    raise UsageError(report["error"])
                if "absent" in report or "not_offered" in report:
                    del found[name]
                    absent |= {name} if "absent" in report else set()
                    continue
                samples.add(report, warms_up=number < 0)
                if samples.witness:
                    first = first or samples
                    if samples.witness != first.witness:
                        samples.fail(f"did not read the same as {first.contender}")
        results += found.values()
    return results


def _take(plan: Plan, name: str, work: str) -> dict[str, Any]:
    """Take one sample."""
    request = json.dumps([sys.path, [name, work, plan.files.options, *plan.files.all]])
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            bufsize=0,  # nothing is left to write when the process has died
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end_late() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(TIME_LIMIT_SECONDS, end_late)
        timer.start()
        try:
            _tell(process.stdin, request)
            line = process.stdout.readline()
            if line == b"ready\n":
                (drop if plan.cold else _warm)(plan.files)
                _tell(process.stdin, "go")
                line = process.stdout.readline()
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
        process.wait()
        if line:
            report: dict[str, Any] = json.loads(line)
            return report
        complaints.seek(0)
        last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
    if late.is_set():
        return {"error": f"stopped after {TIME_LIMIT_SECONDS:.0f} s"}
    return {"error": ": ".join([_end_of(process.returncode), *last])}


def _tell(stdin: IO[bytes], line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # it has died; its status says why
        stdin.write(line.encode() + b"\n")


def _end_of(status: int) -> str:
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def drop(files: Files) -> None:
    """Drop the files from the page cache, as far as the system allows it."""
    for path in files.all:
        with Path(path).open("rb", buffering=0) as file:
            os.fsync(file.fileno())  # pages that are not on disk yet cannot be dropped
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _warm(files: Files) -> None:
    chunk = bytearray(_CHUNK_BYTES)
    for path in files.all:
        with Path(path).open("rb", buffering=0) as file:
            while file.readinto(chunk):
                pass
