"""A question of the benchmarks: its contenders, works, rounds and targets. And its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from bench.backed_memory import BackedMemory
from bench.ratios import Count, Ratio, summary
from bench.sampling import Model, Sample, Work, take_turns

WARMUP_ROUNDS = 2
OURS = "onnxmap"
MOST_TAKEN = 8 * 10**9  # bytes of new memory that the peers need for a model of 3.4 GB


@dataclass(frozen=True)
class Question:
    """One row of the table of targets.

    Attributes:
        takes: bytes of new memory that are backed when a sample begins. It is the most that one
            sample touches, as arrays or as page cache.
    """

    key: str
    title: str
    pairs: int
    works: Mapping[str, Work]
    targets: Sequence[Ratio | Count]
    takes: int = 0

    @property
    def contenders(self) -> list[str]:
        """The names of the contenders in every table."""
        return list(self.works)

    @property
    def models(self) -> list[str]:
        """The names of the models that the works need."""
        return sorted({work.model for work in self.works.values() if work.model})


@dataclass(frozen=True)
class Answer:
    """All samples of a question."""

    question: Question
    samples: Mapping[str, Sequence[Sample]]

    def error(self, contender: str) -> str:
        """Return why the contender has no time; empty if it has one."""
        return next((s.error for s in self.samples[contender] if s.error), "")

    def verdicts(self) -> list[dict[str, Any]]:
        """Return every target with its result; there is none if a contender failed."""
        found = []
        for target in self.question.targets:
            able = {
                label: samples
                for label, samples in self.samples.items()
                if not self.error(label) and not self.question.works[label].orientation
            }
            try:
                found.append(target.judge(able))
            except KeyError:
                found.append({"claim": target.claim, "bound": target.bound, "met": None})
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the report."""
        contenders = {}
        for label, samples in self.samples.items():
            work = self.question.works[label]
            contenders[label] = {
                "peer": work.peer,
                "task": work.task,
                "model": work.model,
                "error": self.error(label),
                "known_failure": work.fails,
                "cold": work.cold,
                "resident_share": (max if work.cold else min)(s.resident for s in samples),
                "seconds": [s.seconds for s in samples if not s.error],
                "counters": {
                    name: int(median(s.counters[name] for s in samples))
                    for name in samples[0].counters
                },
                "ours_over_this": summary(self._ours_over(label)),
            }
        return {
            "title": self.question.title,
            "targets": self.verdicts(),
            "contenders": contenders,
        }

    def _ours_over(self, label: str) -> list[float]:
        if OURS not in self.samples or self.error(OURS) or self.error(label):
            return []
        pairs = zip(self.samples[OURS], self.samples[label], strict=False)
        return [ours.seconds / other.seconds for ours, other in pairs]


def answer(
    question: Question,
    models: Mapping[str, Model],
    rounds: int,
    warmups: int,
    memory: BackedMemory,
) -> Answer:
    """Take all samples of a question. `memory` is freed during a sample."""
    return Answer(question, take_turns(question.works, models, rounds, warmups, memory))


class Replay:
    """A clock for pytest-benchmark, which records times that were measured before.

    pytest-benchmark reads a clock before and after a call. The samples were taken earlier, in other
    processes and in turns. So the call moves this clock forward by the seconds of the next sample.
    """

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time of this clock."""
        return self.now

    def run(self, benchmark: BenchmarkFixture, samples: Sequence[Sample]) -> None:
        """Record the samples as the rounds of `benchmark`."""
        seconds: Iterator[float] = iter(sample.seconds for sample in samples)

        def pass_time() -> None:
            self.now += next(seconds, 0.0)

        benchmark.pedantic(pass_time, rounds=len(samples), iterations=1)


REPLAY = Replay()
