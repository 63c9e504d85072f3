"""How long does it take to check a model against the rules of the specification?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import Count, at_least, at_most
from bench.sampling import Work

# The names and notes of 200 000 nodes, or the pages around a few weights.
MOST_RESIDENT = 64 << 20


def checked(key: str, title: str, model: str) -> Question:
    """Return the question for a model that breaks no rule; loading is a part of both works."""
    return Question(
        key=key,
        title=title,
        pairs=9,
        works={
            OURS: Work("ours", "check", model),
            "onnx.checker": Work("official", "check", model),
        },
        targets=[
            at_least(10, OURS, "onnx.checker"),
            Count("peak of anonymous + file memory, bytes", OURS, "rss_peak", MOST_RESIDENT),
        ],
        takes=MOST_TAKEN,
    )


OPERATORS = Question(
    key="P29",
    title="200 000 nodes: check with the signatures of operators",
    pairs=21,
    works={
        OURS: Work("ours", "check_operators", "valid_nodes_200k"),
        "operators=False": Work("ours", "check_structure", "valid_nodes_200k"),
    },
    targets=[at_most(2, OURS, "operators=False")],
)

QUESTIONS = {
    question.key: question
    for question in (
        OPERATORS,
        checked("P25", "1.8 GB inline: load and check", "inline_1800mb"),
        checked("P25 nodes", "200 000 nodes: load and check", "valid_nodes_200k"),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_check(ask, key, contender):
    ask(QUESTIONS[key], contender)
