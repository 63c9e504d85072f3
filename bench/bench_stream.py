"""How long does it take to read every byte in a window of 64 MiB, and how much memory?"""

from __future__ import annotations

import pytest

from bench.models import EXTERNAL_3400MB, INLINE_1800MB, largest_and_total
from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, Count, at_least
from bench.sampling import Work

WINDOW_BYTES = 64 << 20
VIEWS = "onnxmap, views"


def streaming(key: str, title: str, model: str, dimensions: tuple[int, int, int, int]) -> Question:
    """Return the question that compares the stream with views of everything, the work of P9."""
    largest, _ = largest_and_total(dimensions)
    return Question(
        key=key,
        title=title,
        pairs=PARITY_PAIRS,
        works={
            OURS: Work("ours", "stream_64mib", model),
            VIEWS: Work("ours", "touch", model),
            "onnxmap, copies": Work("ours", "stream_copies_64mib", model, orientation=9),
            "onnxmap, as float32": Work("ours", "stream_float32_64mib", model, orientation=5),
            "onnx, tensor by tensor": Work("official", "touch_each", model, orientation=2),
        },
        targets=[
            at_least(0.85, OURS, VIEWS, "speed of the stream / of views"),
            Count("peak: window + largest tensor, bytes", OURS, "rss_peak", WINDOW_BYTES + largest),
        ],
    )


P10 = streaming(
    "P10",
    "touch of everything in a window of 64 MiB, load included (3.4 GB external)",
    "external_3400mb",
    EXTERNAL_3400MB,
)
P10_INLINE = streaming("P10 inline", "the same on 1.8 GB inline", "inline_1800mb", INLINE_1800MB)


@pytest.mark.parametrize("contender", P10.contenders)
def bench_stream(ask, contender):
    ask(P10, contender)


@pytest.mark.parametrize("contender", P10_INLINE.contenders)
def bench_stream_inline(ask, contender):
    ask(P10_INLINE, contender)
