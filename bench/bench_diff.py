"""How long does it take to find what differs between two models?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, at_most
from bench.sampling import Work

TWO = "two_1800mb"

DIFF = Question(
    key="diff",
    title="two 1.8 GB inline models that differ in one tensor: find what differs, load included",
    pairs=PARITY_PAIRS,
    works={OURS: Work("ours", "diff", TWO), "cmp": Work("commands", "cmp", TWO)},
    targets=[at_most(1.5, OURS, "cmp")],
)


@pytest.mark.parametrize("contender", DIFF.contenders)
def bench_diff(ask, contender):
    ask(DIFF, contender)
