"""How long do the statistics of every initializer take, and how much memory?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import Count, at_least
from bench.sampling import Work

PEER = "NumPy and ml_dtypes, in blocks"
PEAK_BYTES = 32 << 20


def statistics(key: str, title: str, model: str) -> Question:
    """Return the question for a model of 3.4 GB of bfloat16."""
    return Question(
        key=key,
        title=title,
        pairs=9,
        works={
            OURS: Work("ours", "stats", model),
            PEER: Work("statistics", "stats", model),
            "onnxmap, one thread": Work("ours", "stats_one_thread", model, orientation=5),
            "NumPy and ml_dtypes, whole arrays": Work(
                "statistics", "stats_whole", model, orientation=2
            ),
        },
        targets=[
            at_least(5, OURS, PEER),
            Count("peak of anonymous + file memory, bytes", OURS, "rss_peak", PEAK_BYTES),
        ],
    )


QUESTIONS = {
    question.key: question
    for question in (
        statistics(
            "stats",
            "min, max, mean, deviation, zeros, NaN of a loaded model (3.4 GB of bfloat16)",
            "weights_3400mb",
        ),
        statistics("stats bits", "the same on random bits, 0.4 % of them NaN", "external_3400mb"),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_stats(ask, key, contender):
    ask(QUESTIONS[key], contender)
