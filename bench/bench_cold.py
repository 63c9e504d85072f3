"""How long does it take if no byte of the files is in the page cache?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import PARITY_PAIRS, at_most
from bench.sampling import Work

INLINE, SMALL, EXTERNAL = "inline_1800mb", "small_100k", "external_3400mb"
NAIVE = "floor, mapped with read-ahead"

P7 = Question(
    key="P7",
    title="cold load of a 1.8 GB inline model",
    pairs=9,
    works={
        OURS: Work("ours", "load", INLINE, cold=True),
        NAIVE: Work("floor", "mapped_headers", INLINE, cold=True),
        "floor F1": Work("floor", "read_headers", INLINE, cold=True, orientation=9),
        "onnx2 skip_raw_data": Work("onnx2", "load", INLINE, cold=True, orientation=9),
        "onnx": Work("official", "load", INLINE, cold=True, orientation=2),
    },
    targets=[at_most(0.1, OURS, NAIVE)],
)

P7_SMALL = Question(
    key="P7 small",
    title="cold load of 100 000 small inline tensors",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "load", SMALL, cold=True),
        NAIVE: Work("floor", "mapped_headers", SMALL, cold=True),
        "floor F1": Work("floor", "read_headers", SMALL, cold=True, orientation=9),
        "onnx2 skip_raw_data": Work("onnx2", "load", SMALL, cold=True, orientation=9),
        "onnx": Work("official", "load", SMALL, cold=True, orientation=3),
    },
    targets=[at_most(1.5, OURS, NAIVE)],
)

P8 = Question(
    key="P8",
    title="cold read and touch of everything, load included (3.4 GB external)",
    pairs=15,
    works={
        OURS: Work("ours", "stream", EXTERNAL, cold=True),
        "onnx-ir": Work("ir", "touch", EXTERNAL, cold=True),
        "onnxmap, views": Work("ours", "touch", EXTERNAL, cold=True, orientation=3),
        "floor, the disk alone": Work("floor", "read_directly", EXTERNAL, cold=True),
        "floor F3": Work("floor", "read_into_huge_pages", EXTERNAL, cold=True, orientation=3),
        "safetensors": Work("tensors", "touch", EXTERNAL, cold=True, orientation=3),
        "onnx": Work("official", "touch_each", EXTERNAL, cold=True, orientation=2),
    },
    targets=[at_most(0.65, OURS, "onnx-ir")],
    takes=MOST_TAKEN,
)


@pytest.mark.parametrize("contender", P7.contenders)
def bench_cold_load(ask, contender):
    ask(P7, contender)


@pytest.mark.parametrize("contender", P7_SMALL.contenders)
def bench_cold_load_of_many(ask, contender):
    ask(P7_SMALL, contender)


@pytest.mark.parametrize("contender", P8.contenders)
def bench_cold_touch(ask, contender):
    ask(P8, contender)
