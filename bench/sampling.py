"""Samples, each in a new process, and rounds in which contenders take turns: A B A B."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import page_cache
from bench.backed_memory import BackedMemory
from bench.counters import proportional
from bench.worker_process import WorkerProcess

TIME_LIMIT_SECONDS = 600
WARM_SHARE = 0.999  # the system may drop a page or two at any time

# An import is timed by a process that has imported nothing else.
IMPORT_PROGRAM = """
import sys, time
start = time.perf_counter_ns()
for name in sys.argv[1:]:
    __import__(name)
seconds = (time.perf_counter_ns() - start) / 1e9
import json
print(json.dumps({"seconds": seconds, "counters": {"modules": len(sys.modules)}, "witness": {}}))
"""


@dataclass(frozen=True)
class Work:
    """One contender: a task of a peer on a model.

    Attributes:
        orientation: the number of rounds, for a contender that no target names; 0 for all.
        fails: why this peer is known to fail; empty if it does not.
        cold: take the model's files out of the page cache just before.
        python: the interpreter of its process; by default, that of this one.
        processes: the number of processes that do the work at the same time. They keep the result
            until all are done.
    """

    peer: str
    task: str
    model: str = ""
    orientation: int = 0
    fails: str = ""
    cold: bool = False
    python: str = ""
    processes: int = 1


@dataclass
class Model:
    """A model on disk, and the bytes that must be in the page cache."""

    folder: Path
    payload_is_read: bool
    _spans: list[page_cache.Span] = field(default_factory=list)

    def spans(self) -> list[page_cache.Span]:
        """Return all bytes of its files, without a payload that is a hole and never read."""
        if not self._spans:
            if self.payload_is_read:
                files = [f for f in self.folder.iterdir() if f.name != "manifest.json"]
                self._spans = [(f, 0, f.stat().st_size) for f in files]
            else:
                path = self.folder / "model.onnx"
                lines = json.loads((self.folder / "manifest.json").read_text())
                begins = [0, *(line["data_offset"] + line["nbytes"] for line in lines)]
                ends = [*(line["data_offset"] for line in lines), path.stat().st_size]
                self._spans = [(path, b, e) for b, e in zip(begins, ends, strict=True) if e > b]
        return self._spans


@dataclass(frozen=True)
class Sample:
    """The report of one process, or of several that worked at the same time."""

    seconds: float = float("nan")
    counters: Mapping[str, int] = field(default_factory=dict)
    witness: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    resident: float = 1.0  # the share of the model that was in the page cache just before


def take_sample(
    work: Work, model: Model | None, memory: BackedMemory, full_witness: bool = False
) -> Sample:
    """Start processes, prepare the page cache and memory, let the processes work, and report."""
    if model is None:
        return _sample_import(work)
    arguments = (work.peer, work.task, str(model.folder), "full" if full_witness else "light")
    with ExitStack() as running:
        workers = [
            running.enter_context(WorkerProcess(*arguments, python=work.python))
            for _ in range(work.processes)
        ]
        with _time_limit(workers) as is_over:
            sample = _sample(work, model, workers, memory)
    memory.take()  # before the host takes it back
    return Sample(error=f"not done after {TIME_LIMIT_SECONDS} s") if is_over.is_set() else sample


def _sample(
    work: Work, model: Model, workers: Sequence[WorkerProcess], memory: BackedMemory
) -> Sample:
    unable = [worker for worker in workers if not worker.is_ready()]
    if unable:
        return Sample(error=unable[0].report()["error"])
    resident = page_cache.chill(model.spans()) if work.cold else _ensure_warm(model)
    if work.cold and resident > page_cache.COLD_SHARE:
        return Sample(error=f"{resident:.1%} of the files stayed in the page cache")
    idle = sum(proportional(worker.number) for worker in workers) if len(workers) > 1 else 0
    memory.give()
    for worker in workers:
        worker.go()
    reports = [worker.report() for worker in workers]
    if error := next((report["error"] for report in reports if "error" in report), ""):
        return Sample(error=error)
    if len(workers) == 1:
        return Sample(**reports[0], resident=resident)
    # All processes still hold their results.
    pss = sum(proportional(worker.number) for worker in workers) - idle
    if any(report["witness"] != reports[0]["witness"] for report in reports):
        raise AssertionError(f"unequal work: processes of {work.peer} {work.task} differ")
    names = reports[0]["counters"]
    counters = {name: sum(report["counters"][name] for report in reports) for name in names}
    seconds = max(report["seconds"] for report in reports)
    return Sample(seconds, {**counters, "pss": pss}, reports[0]["witness"], resident=resident)


@contextmanager
def _time_limit(workers: Sequence[WorkerProcess]) -> Iterator[threading.Event]:
    """Kill the workers and set the event if they take too long."""
    is_over = threading.Event()

    def stop() -> None:
        is_over.set()
        for worker in workers:
            worker.kill()

    timer = threading.Timer(TIME_LIMIT_SECONDS, stop)
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()


def _sample_import(work: Work) -> Sample:
    command = [sys.executable, "-c", IMPORT_PROGRAM, *work.task.split()]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        return Sample(error=f"process ended with status {done.returncode}: {last[0]}")
    return Sample(**json.loads(done.stdout))


def _ensure_warm(model: Model) -> float:
    share = page_cache.resident_share(model.spans())
    if share < WARM_SHARE:
        page_cache.warm(model.spans())
        share = page_cache.resident_share(model.spans())
    return share


def take_turns(
    works: Mapping[str, Work],
    models: Mapping[str, Model],
    rounds: int,
    warmups: int,
    memory: BackedMemory,
) -> dict[str, list[Sample]]:
    """Take the samples of all rounds. In a round, every contender has one turn.

    The warm-up rounds come first and are dropped. The first turn of each contender also reads every
    byte of its result, to compare it with the others. A contender that fails has no further turns.
    """
    first = {
        label: take_sample(work, models.get(work.model), memory, full_witness=True)
        for label, work in works.items()
    }
    able = {label: work for label, work in works.items() if not first[label].error}
    _refuse_unequal_work(able, list(first.items()))
    samples = {
        label: [sample] if sample.error or not warmups else [] for label, sample in first.items()
    }
    for number in range(1 - warmups, rounds):  # numbers below 0 are warm-up rounds
        for label, work in able.items():
            if number < (work.orientation or rounds) and (number >= 0 or not work.orientation):
                sample = take_sample(work, models.get(work.model), memory)
                if number >= 0:
                    samples[label].append(sample)
    _refuse_unequal_work(
        able, [(label, sample) for label, found in samples.items() for sample in found]
    )
    for name in {work.model for work in works.values() if work.cold}:
        # The last reader may have left small folios. The next question must find large ones.
        page_cache.chill(models[name].spans())
    return samples


def _refuse_unequal_work(works: Mapping[str, Work], samples: Sequence[tuple[str, Sample]]) -> None:
    """Raise if two contenders read different values of the same model."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for label, sample in samples:
        if label not in works:
            continue
        for kind, value in sample.witness.items():
            other, expected = seen.setdefault((works[label].model, kind), (label, value))
            if value != expected:
                raise AssertionError(f"unequal work: {label} and {other} differ in {kind}")
