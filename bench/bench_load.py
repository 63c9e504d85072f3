"""How long does it take to read a model's structure, and does it depend on the weights' size?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import PARITY_PAIRS, Count, Ratio, at_most
from bench.sampling import Work

MEGABYTE = 10**6
INLINE, SINGLE = "inline_1800mb", "single_3000mb"
OVER_2GIB = "no model over 2 GiB"

P1 = Question(
    key="P1",
    title="load (structure) of a 1.8 GB inline model",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "load", INLINE),
        "onnx2 skip_raw_data": Work("onnx2", "load", INLINE),
        "floor F1": Work("floor", "read_headers", INLINE),
        "onnx": Work("official", "load", INLINE, orientation=3),
        "onnx-ir": Work("ir", "load", INLINE, orientation=3),
        "onnxruntime": Work("runtime", "load", INLINE, orientation=3),
    },
    targets=[
        at_most(1.0, OURS, "onnx2 skip_raw_data"),
        at_most(4.0, OURS, "floor F1"),
        Count("resident memory (anonymous + file), bytes", OURS, "rss", 5 * MEGABYTE),
    ],
    takes=MOST_TAKEN,
)

P3 = Question(
    key="P3",
    title="a 3 GB single file: load and every initializer as an array",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "views", SINGLE),
        "onnxmap, 1.8 GB": Work("ours", "views", INLINE),
        "onnx2": Work("onnx2", "views", SINGLE, orientation=2),
        "onnx": Work("official", "views", SINGLE, orientation=1, fails=OVER_2GIB),
        "onnx-ir": Work("ir", "views", SINGLE, orientation=1, fails=OVER_2GIB),
        "onnxruntime": Work("runtime", "load", SINGLE, orientation=1, fails=OVER_2GIB),
    },
    targets=[at_most(1.5, OURS, "onnxmap, 1.8 GB")],
    takes=MOST_TAKEN,
)

BYTES = {f"{tenths / 10:g} GB": f"growth_bytes_{tenths}" for tenths in (5, 10, 20, 40, 80)}
THOUSANDS = (50, 100, 200, 400)
LINEAR = 1.2  # still linear: a larger index misses the processor's caches more often

P21_BYTES = Question(
    key="P21 bytes",
    title="growth of the load time with the payload, 130 tensors",
    pairs=PARITY_PAIRS,
    works={label: Work("ours", "load", model) for label, model in BYTES.items()},
    targets=[at_most(1.5, label, "0.5 GB") for label in list(BYTES)[1:]],
)


def linear(kind: str) -> Question:
    """Return the question whether eight times the items take eight times as long."""
    few, many = THOUSANDS[0], THOUSANDS[-1]
    return Question(
        key=f"P21 {kind}",
        title=f"growth of the load time with the number of {kind}",
        pairs=PARITY_PAIRS,
        works={f"{n} 000": Work("ours", "load", f"growth_{kind}_{n}") for n in THOUSANDS}
        | {
            f"onnx, {n} 000": Work("official", "load", f"growth_{kind}_{n}", orientation=3)
            for n in (few, many)
        },
        targets=[
            Ratio(
                f"time per item, {many} 000 / {few} 000",
                lambda s: s[f"{many} 000"] / s[f"{few} 000"] * few / many,
                LINEAR,
                at_most=True,
            )
        ],
    )


P21_TENSORS, P21_NODES = linear("tensors"), linear("nodes")


@pytest.mark.parametrize("contender", P1.contenders)
def bench_structure(ask, contender):
    ask(P1, contender)


@pytest.mark.parametrize("contender", P3.contenders)
def bench_over_2gib(ask, contender):
    ask(P3, contender)


@pytest.mark.parametrize("contender", P21_BYTES.contenders)
def bench_growth_with_bytes(ask, contender):
    ask(P21_BYTES, contender)


@pytest.mark.parametrize("contender", P21_TENSORS.contenders)
def bench_growth_with_tensors(ask, contender):
    ask(P21_TENSORS, contender)


@pytest.mark.parametrize("contender", P21_NODES.contenders)
def bench_growth_with_nodes(ask, contender):
    ask(P21_NODES, contender)
