"""How long until every initializer is an array? (No byte of it is read.)"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import Count, Ratio, at_least
from bench.sampling import Work

PAIRS = 9
MEGABYTE = 10**6
INLINE, EXTERNAL, SMALL, MANY = "inline_1800mb", "external_3400mb", "small_100k", "external_20k"

P2 = Question(
    key="P2",
    title="1.8 GB inline: load and every initializer as an array",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "views", INLINE),
        "onnx": Work("official", "views", INLINE),
        "onnx-ir": Work("ir", "views", INLINE, orientation=2),
        "onnx2": Work("onnx2", "views", INLINE, orientation=2),
        "np.memmap, told the places": Work("memmap", "views", INLINE, orientation=9),
    },
    targets=[
        at_least(2000, OURS, "onnx"),
        Count("nothing copied: anonymous memory, bytes", OURS, "rss_anon", 5 * MEGABYTE),
    ],
    takes=MOST_TAKEN,
)

P4 = Question(
    key="P4",
    title="3.4 GB external in one file: load and every initializer as an array",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "views", EXTERNAL),
        "onnx-ir": Work("ir", "views", EXTERNAL),
        "onnx": Work("official", "views", EXTERNAL, orientation=2),
        "safetensors": Work("tensors", "views", EXTERNAL, orientation=2),
        "np.memmap, told the places": Work("memmap", "views", EXTERNAL, orientation=9),
    },
    targets=[
        at_least(5, OURS, "onnx-ir"),
        Count("mappings of the model's two files", OURS, "model_mappings", 2),
        Count("descriptors added", OURS, "descriptors", 2),
    ],
    takes=MOST_TAKEN,
)

LOAD, NAMES_SHAPES = "onnxmap, load only", "onnxmap, names and shapes"
P5 = Question(
    key="P5",
    title="100 000 small inline tensors",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "views", SMALL),
        "onnx": Work("official", "views", SMALL),
        LOAD: Work("ours", "load", SMALL),
        "floor F2": Work("floor", "bare_arrays", SMALL),
        NAMES_SHAPES: Work("ours", "names_shapes", SMALL),
        "onnx, names and shapes": Work("official", "names_shapes", SMALL),
        "onnx-ir": Work("ir", "views", SMALL, orientation=2),
    },
    targets=[
        at_least(
            4, NAMES_SHAPES, "onnx, names and shapes", "load + names() + shapes(): onnx / ours"
        ),
        at_least(7, OURS, "onnx", "load + views(): onnx / ours"),
        Ratio(
            "load + views() / (2.5 F2 + load)",
            lambda s: s[OURS] / (2.5 * s["floor F2"] + s[LOAD]),
            1.0,
            at_most=True,
        ),
    ],
)

P6 = Question(
    key="P6",
    title="20 000 external tensors: load and every initializer as an array",
    pairs=PAIRS,
    works={
        OURS: Work("ours", "views", MANY),
        "onnx": Work("official", "views", MANY),
        "onnx-ir": Work(
            "ir", "views", MANY, orientation=1, fails="a descriptor per tensor runs out of them"
        ),
    },
    targets=[
        at_least(25, OURS, "onnx"),
        Count("mappings of the model's two files", OURS, "model_mappings", 2),
        Count("descriptors added", OURS, "descriptors", 2),
    ],
)


@pytest.mark.parametrize("contender", P2.contenders)
def bench_inline(ask, contender):
    ask(P2, contender)


@pytest.mark.parametrize("contender", P4.contenders)
def bench_external(ask, contender):
    ask(P4, contender)


@pytest.mark.parametrize("contender", P5.contenders)
def bench_many_small(ask, contender):
    ask(P5, contender)


@pytest.mark.parametrize("contender", P6.contenders)
def bench_many_external(ask, contender):
    ask(P6, contender)
