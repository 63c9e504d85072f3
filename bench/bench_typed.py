"""How long does it take from a file with int64_data to an array?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import at_least
from bench.sampling import Work

PAIRS = 9
AT_LEAST = 5


def varints(key: str, model: str, title: str) -> Question:
    """Return the question for ten million integers, from the file to an array."""
    return Question(
        key=key,
        title=title,
        pairs=PAIRS,
        works={
            OURS: Work("ours", "file_to_array", model),
            "onnx": Work("official", "file_to_array", model),
            "onnx-ir": Work("ir", "file_to_array", model, orientation=3),
            "floor F5, new memory": Work("floor", "copy_to_new", model, orientation=5),
            "floor F5, memory written before": Work("floor", "copy_to_warm", model, orientation=5),
        },
        targets=[at_least(AT_LEAST, OURS, "onnx")],
    )


QUESTIONS = {
    question.key: question
    for question in (
        varints(
            "P18", "int64_mixed", "int64_data, 10 million varints of 1 to 10 bytes, file to array"
        ),
        varints("P18 small", "int64_small", "the same, all of one byte"),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_typed(ask, key, contender):
    ask(QUESTIONS[key], contender)
