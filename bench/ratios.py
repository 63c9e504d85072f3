"""Targets: ratios of paired times, and counters. Each is judged on the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.sampling import Sample

PARITY_PAIRS = 31  # from this number on, a bootstrap interval decides, not the median
PARITY_TOLERANCE = 0.05
RESAMPLES = 10_000
CONFIDENCE = 0.95

Seconds = Mapping[str, float]  # one round: contender -> seconds


@dataclass(frozen=True)
class Ratio:
    """A target for a ratio of times, computed for each round.

    With 31 pairs or more, the target is met if the worse end of the bootstrap interval of the
    median is within 5 % of the bound. With fewer pairs, the median decides.
    """

    claim: str
    of: Callable[[Seconds], float]
    bound: float
    at_most: bool

    def judge(self, samples: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
        """The target with what was found."""
        found: dict[str, Any] = {
            "claim": self.claim,
            "bound": self.bound,
            "sense": "<=" if self.at_most else ">=",
        }
        rounds = zip(*samples.values(), strict=False)
        values = [
            self.of({label: s.seconds for label, s in zip(samples, turns, strict=True)})
            for turns in rounds
        ]
        if len(values) >= PARITY_PAIRS:
            found["interval"] = bootstrap(values)
        return found | summary(values) | {"met": self._met(values)}

    def _met(self, values: list[float]) -> bool | None:
        if not values:
            return None
        if len(values) < PARITY_PAIRS:
            middle = median(values)
            return middle <= self.bound if self.at_most else middle >= self.bound
        low, high = bootstrap(values)
        if self.at_most:
            return high <= self.bound * (1 + PARITY_TOLERANCE)
        return low >= self.bound * (1 - PARITY_TOLERANCE)


def at_most(bound: float, ours: str, peer: str, claim: str = "") -> Ratio:
    """Return the target that our time is at most `bound` times the peer's."""
    return Ratio(
        claim or f"{ours} / {peer}", lambda seconds: seconds[ours] / seconds[peer], bound, True
    )


def at_least(bound: float, ours: str, peer: str, claim: str = "") -> Ratio:
    """Return the target that the peer's time is at least `bound` times ours."""
    return Ratio(
        claim or f"{peer} / {ours}", lambda seconds: seconds[peer] / seconds[ours], bound, False
    )


@dataclass(frozen=True)
class Count:
    """A target for a counter. The worst sample decides."""

    claim: str
    contender: str
    counter: str
    bound: int

    def judge(self, samples: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
        """The target with what was found."""
        values = [s.counters[self.counter] for s in samples[self.contender] if not s.error]
        found = {"claim": self.claim, "bound": self.bound, "sense": "<="}
        return found | summary(values) | {"met": max(values) <= self.bound if values else None}


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return the median, the least and the greatest value."""
    if not values:
        return {"pairs": 0}
    return {
        "pairs": len(values),
        "median": median(values),
        "min": min(values),
        "max": max(values),
    }


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the median."""
    generator = np.random.default_rng(0)
    drawn = generator.choice(np.asarray(values, float), (RESAMPLES, len(values)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.median(drawn, axis=1), (tail, 1 - tail))
    return float(low), float(high)
