"""How long does it take to unpack elements of less than a byte into a new array?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, at_least
from bench.sampling import Work

NEW, WARM = "floor F5, new memory", "floor F5, memory written before"
PAIRS_WITHOUT_TARGET = 5


def unpacked(dtype: str) -> dict[str, Work]:
    """Return the works of all contenders that unpack, and of a memory copy of the result."""
    model = f"{dtype}_ordinary"
    return {
        OURS: Work("ours", "decode", model),
        "onnx": Work("official", "decode", model),
        NEW: Work("floor", "copy_to_new", model),
        WARM: Work("floor", "copy_to_warm", model),
        "onnx-ir": Work("ir", "decode", model, orientation=3),
    }


P16 = Question(
    key="P16",
    title="int4, 64 Mi elements, of a loaded tensor into a new array",
    pairs=PARITY_PAIRS,
    works=unpacked("int4"),
    targets=[at_least(8, OURS, "onnx"), at_least(0.5, OURS, NEW), at_least(0.5, OURS, WARM)],
)

QUESTIONS = {P16.key: P16} | {
    f"P16 {dtype}": Question(
        key=f"P16 {dtype}",
        title=f"the same for {dtype} (no target)",
        pairs=PAIRS_WITHOUT_TARGET,
        works=unpacked(dtype),
        targets=[],
    )
    for dtype in ("int2", "float6_e2m3fn")
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_unpack(ask, key, contender):
    ask(QUESTIONS[key], contender)
