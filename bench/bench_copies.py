"""How long until every initializer is a writable array with its own memory?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import PARITY_PAIRS, at_least
from bench.sampling import Work

EXTERNAL = "external_3400mb"
TITLE = "fresh writable copies of everything, load included (3.4 GB external)"

P11 = Question(
    key="P11",
    title=TITLE,
    pairs=9,
    works={
        OURS: Work("ours", "arrays", EXTERNAL),
        "safetensors load_file": Work("tensors", "arrays", EXTERNAL),
        "onnx": Work("official", "views", EXTERNAL, orientation=2),
    },
    targets=[at_least(5, OURS, "safetensors load_file")],
    takes=MOST_TAKEN,
)

P11_FLOOR = Question(
    key="P11 floor",
    title=TITLE,
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "arrays", EXTERNAL),
        "floor F3": Work("floor", "read_into_huge_pages", EXTERNAL),
    },
    targets=[at_least(0.8, OURS, "floor F3")],
    takes=MOST_TAKEN,
)


@pytest.mark.parametrize("contender", P11.contenders)
def bench_copies(ask, contender):
    ask(P11, contender)


@pytest.mark.parametrize("contender", P11_FLOOR.contenders)
def bench_copies_and_floor(ask, contender):
    ask(P11_FLOOR, contender)
