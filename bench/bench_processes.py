"""How much memory do four processes need that have read everything and keep the arrays?"""

from __future__ import annotations

import pytest

from bench.models import EXTERNAL_3400MB, INLINE_1800MB, largest_and_total
from bench.question import OURS, Question
from bench.ratios import Count
from bench.sampling import Work

PAIRS = 5
PROCESSES = 4
INLINE, EXTERNAL = "inline_1800mb", "external_3400mb"


def shared(dimensions: tuple[int, int, int, int]) -> Count:
    """Return the target for the Pss, in which a page that four processes map counts once in all.

    The memory of the idle interpreters is deducted.
    """
    _, model_bytes = largest_and_total(dimensions)
    return Count("Pss of all, less idle, bytes", OURS, "pss", int(1.05 * model_bytes))


P20 = Question(
    key="P20",
    title="four processes touch and hold everything (1.8 GB inline)",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "touch_and_hold", INLINE, processes=PROCESSES),
        "onnx": Work("official", "touch_and_hold", INLINE, orientation=1, processes=PROCESSES),
    },
    targets=[shared(INLINE_1800MB)],
)

P20_EXTERNAL = Question(
    key="P20 external",
    title="the same on 3.4 GB external",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "touch_and_hold", EXTERNAL, processes=PROCESSES),
        "onnx-ir": Work("ir", "touch_and_hold", EXTERNAL, orientation=2, processes=PROCESSES),
    },
    targets=[shared(EXTERNAL_3400MB)],
)


@pytest.mark.parametrize("contender", P20.contenders)
def bench_processes(ask, contender):
    ask(P20, contender)


@pytest.mark.parametrize("contender", P20_EXTERNAL.contenders)
def bench_processes_external(ask, contender):
    ask(P20_EXTERNAL, contender)
