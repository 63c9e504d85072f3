"""How long does it take to convert a tensor into a given array, and is the result exact?

The targets are for ordinary values. Random bits hold NaNs, infinities and subnormals. In both, the
results are compared bit for bit.
"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import at_least
from bench.sampling import Work
from bench.tensor_files import PACKED_BITS

PAIRS, PAIRS_WITHOUT_TARGET, PAIRS_OF_BITS = 9, 5, 3
TO_FLOAT32 = {  # source type: the target, in multiples of the speed of NumPy or ml_dtypes
    "float8_e4m3fn": 8,
    "float16": 6,
    "float8_e5m2": None,
    "float8_e4m3fnuz": None,
    "float8_e8m0fnu": None,
    "bfloat16": None,
    "float6_e2m3fn": None,
    "float4_e2m1fn": None,
    "int4": None,
}
FROM_FLOAT32 = {"float16": 6, "bfloat16": None}
FLOOR = "floor F5, memory written before"
WHAT = "elements of a loaded tensor into a given array"


def peer_of(source: str, target: str) -> str:
    """Return whose conversion `np.copyto` calls."""
    return "NumPy" if {source, target} == {"float16", "float32"} else "ml_dtypes"


def on_ordinary_values(source: str, target: str, factor: float | None) -> Question:
    """Return the question for a pair of types, on ordinary values."""
    peer, task, model = peer_of(source, target), f"to_{target}", f"{source}_ordinary"
    copy = "copy_float32" if target == "float32" else "copy_float16"
    works = {
        OURS: Work("ours", task, model),
        peer: Work("official", task, model),
        FLOOR: Work("floor", copy, model, orientation=5),
    }
    if factor:
        works["onnxmap, read before"] = Work("ours", f"{task}_again", model, orientation=5)
    return Question(
        key=f"P17 {source} to {target}",
        title=f"64 Mi {WHAT}" + ("" if factor else " (no target)"),
        pairs=PAIRS if factor else PAIRS_WITHOUT_TARGET,
        works=works,
        targets=[at_least(factor, OURS, peer)] if factor else [],
    )


def on_random_bits(source: str, target: str) -> Question:
    """Return the question for the same pair on random bits."""
    task, model = f"to_{target}", f"{source}_bits"
    return Question(
        key=f"P17 {source} to {target}, random bits",
        title=f"4 Mi {WHAT} (no target)",
        pairs=PAIRS_OF_BITS,
        works={
            OURS: Work("ours", task, model),
            peer_of(source, target): Work("official", task, model),
        },
        targets=[],
    )


CONVERSIONS = [
    *((source, "float32", factor) for source, factor in TO_FLOAT32.items()),
    *(("float32", target, factor) for target, factor in FROM_FLOAT32.items()),
]
QUESTIONS = {
    question.key: question
    for question in (
        *(on_ordinary_values(*conversion) for conversion in CONVERSIONS),
        *(on_random_bits(*pair) for *pair, _ in CONVERSIONS if pair[0] not in PACKED_BITS),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_convert(ask, key, contender):
    ask(QUESTIONS[key], contender)
