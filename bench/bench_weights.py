"""How long does it take to move weights between ONNX, safetensors and NumPy, and in what memory?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import Count, at_most
from bench.sampling import Work

INLINE, EXTERNAL = "inline_1800mb", "external_1800mb"
FLOOR = "floor F4"
MOST_RESIDENT = 64 << 20
TAKEN = 2 * 10**9  # bytes: more than those of the new files
PAIRS = 15


def moving(key: str, title: str, task: str, model: str, peer: str) -> Question:
    """Return the question for the weights' way into another kind of file, without sync."""
    return Question(
        key,
        f"{title}, `sync=False`",
        PAIRS,
        {
            OURS: Work("ours", task, model),
            FLOOR: Work("floor", "copy_file_unsynced", model),
            peer: Work("converting", task, model, orientation=2),
        },
        [
            at_most(1.3, OURS, FLOOR),
            Count("peak of anonymous + file memory, bytes", OURS, "rss_peak", MOST_RESIDENT),
        ],
        takes=TAKEN,
    )


QUESTIONS = {
    question.key: question
    for question in (
        moving(
            "P12 to safetensors",
            "1.8 GB inline: save the weights as safetensors",
            "to_safetensors",
            INLINE,
            "onnx and safetensors",
        ),
        moving(
            "P12 from safetensors",
            "1.8 GB of safetensors: save a model with them inline",
            "from_safetensors",
            EXTERNAL,
            "onnx and safetensors",
        ),
        moving(
            "P12 to npz",
            "1.8 GB inline: save the weights as an archive of NumPy",
            "to_npz",
            INLINE,
            "onnx and NumPy",
        ),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_weights(ask, key, contender):
    ask(QUESTIONS[key], contender)
