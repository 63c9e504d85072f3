"""Samples, each in a fresh process, and rounds of samples that take turns: A B A B."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench import page_cache

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT_SECONDS = 600
WARM_SHARE = 0.999  # a page or two may be given back at any moment

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

    `orientation`: a contender that no target names takes part in only so many rounds.
    """

    peer: str
    task: str
    model: str = ""
    orientation: int = 0
    fails: str = ""  # why this peer is known to be unable to do it


@dataclass
class Model:
    """A model on disk, and what of it must be in the page cache."""

    folder: Path
    payload_is_read: bool
    _spans: list[page_cache.Span] = field(default_factory=list)

    def spans(self) -> list[page_cache.Span]:
        """All bytes of its files; without the payload where that is a hole that nobody reads."""
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
    """What one process reported."""

    seconds: float = float("nan")
    counters: Mapping[str, int] = field(default_factory=dict)
    witness: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    resident: float = 1.0  # the share of the model that was in the page cache just before


def take_sample(work: Work, model: Model | None, full_witness: bool = False) -> Sample:
    """Start a process, let it import and prepare, see that the page cache is warm, and say go."""
    if model is None:
        return _sample_import(work)
    arguments = [work.peer, work.task, str(model.folder), "full" if full_witness else "light"]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "bench.worker", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        resident = 1.0
        try:
            if line.strip() == "ready":
                resident = _ensure_warm(model)
                line, _ = process.communicate("go\n", timeout=TIME_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return Sample(error=f"not done after {TIME_LIMIT_SECONDS} s")
        process.wait()
        return _parse(line, process.returncode, complaints, resident)


def _sample_import(work: Work) -> Sample:
    command = [sys.executable, "-c", IMPORT_PROGRAM, *work.task.split()]
    with tempfile.TemporaryFile("w+") as complaints:
        done = subprocess.run(
            command, cwd="/", stdout=subprocess.PIPE, stderr=complaints, text=True, check=False
        )
        return _parse(done.stdout, done.returncode, complaints, 1.0)


def _ensure_warm(model: Model) -> float:
    share = page_cache.resident_share(model.spans())
    if share < WARM_SHARE:
        page_cache.warm(model.spans())
        share = page_cache.resident_share(model.spans())
    return share


def _parse(line: str, status: int, complaints: IO[str], resident: float) -> Sample:
    try:
        return Sample(**json.loads(line), resident=resident)
    except json.JSONDecodeError:
        complaints.seek(0)
        last = complaints.read().strip().splitlines()[-1:] or [""]
        return Sample(error=f"process ended with status {status}: {last[0]}")


def take_turns(
    works: Mapping[str, Work], models: Mapping[str, Model], rounds: int, warmups: int
) -> dict[str, list[Sample]]:
    """Rounds in which every contender has one turn; the warm-up rounds come first and are dropped.

    The first turn of each also reads every byte of its result, which is compared between contenders.
    A contender that fails has no further turns.
    """
    first = {
        label: take_sample(work, models.get(work.model), full_witness=True)
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
                sample = take_sample(work, models.get(work.model))
                if number >= 0:
                    samples[label].append(sample)
    _refuse_unequal_work(
        able, [(label, sample) for label, found in samples.items() for sample in found]
    )
    return samples


def _refuse_unequal_work(works: Mapping[str, Work], samples: Sequence[tuple[str, Sample]]) -> None:
    """Raise unless all who read the same thing of the same model read the same."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for label, sample in samples:
        if label not in works:
            continue
        for kind, value in sample.witness.items():
            other, expected = seen.setdefault((works[label].model, kind), (label, value))
            if value != expected:
                raise AssertionError(f"unequal work: {label} and {other} differ in {kind}")
