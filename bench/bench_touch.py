"""How long until every byte of every initializer has been read, with a warm page cache?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import PARITY_PAIRS, at_most
from bench.sampling import Work

EXTERNAL, INLINE = "external_3400mb", "inline_1800mb"

P9 = Question(
    key="P9",
    title="warm touch of everything through views, load included (3.4 GB external)",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "touch", EXTERNAL),
        "onnx-ir": Work("ir", "touch", EXTERNAL),
        "np.memmap, told the places": Work("memmap", "touch", EXTERNAL, orientation=9),
        "safetensors": Work("tensors", "touch", EXTERNAL, orientation=3),
    },
    targets=[at_most(1.0, OURS, "onnx-ir")],
    takes=MOST_TAKEN,
)

P9_ALONE = Question(
    key="P9 alone",
    title="the same, arrays there before the timer starts",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "touch_only", EXTERNAL),
        "onnx-ir": Work("ir", "touch_only", EXTERNAL),
        "np.memmap, told the places": Work("memmap", "touch_only", EXTERNAL, orientation=9),
    },
    targets=[at_most(1.0, OURS, "onnx-ir")],
)

# Inline weights begin at any byte, so most views are unaligned, for every contender.
P9_INLINE = Question(
    key="P9 inline",
    title="the same as P9 on 1.8 GB inline (no target: onnx-ir copies)",
    pairs=9,
    works={
        OURS: Work("ours", "touch", INLINE),
        "np.memmap, told the places": Work("memmap", "touch", INLINE),
        "onnx-ir": Work("ir", "touch", INLINE, orientation=2),
    },
    targets=[],
)


@pytest.mark.parametrize("contender", P9.contenders)
def bench_touch(ask, contender):
    ask(P9, contender)


@pytest.mark.parametrize("contender", P9_ALONE.contenders)
def bench_touch_alone(ask, contender):
    ask(P9_ALONE, contender)


@pytest.mark.parametrize("contender", P9_INLINE.contenders)
def bench_touch_inline(ask, contender):
    ask(P9_INLINE, contender)
