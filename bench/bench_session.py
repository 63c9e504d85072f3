"""How long does it take to open a session of onnxruntime, and how much memory does it need?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import Count, at_least
from bench.sampling import Work

OVER_2GIB = "no model over 2 GiB"
PAIRS = 9
PROCESSES = 4
MODEL, LARGER = "products_1740mb", "products_3000mb"
MODEL_BYTES = 26 * 4096 * 4096 * 4
RUNTIME = "onnxruntime"
TAKEN = 4 * 10**9  # bytes: what onnxruntime copies, and the file


def runs(batch: int) -> Question:
    """Return the question what prepacking gives. No target names it."""
    return Question(
        key=f"P23 run of {batch}",
        title=f"one run of an open session, batch of {batch}",
        pairs=PAIRS,
        works={
            "not prepacked": Work("our_sessions", f"run_{batch}", MODEL),
            "prepacked": Work("our_sessions", f"run_{batch}_prepacked", MODEL),
        },
        targets=[],
        takes=TAKEN,
    )


def workers(key: str, title: str, task: str) -> Question:
    """Return the question how much memory one, two and four processes need together."""
    works = {
        f"{count} process{'es' if count > 1 else ''}": Work(
            "our_sessions", task, MODEL, processes=count
        )
        for count in (1, 2, 4)
    }
    return Question(key, title, 3, works, [])


QUESTIONS = {
    question.key: question
    for question in (
        Question(
            key="P23",
            title="1.74 GB inline: load, and open a session without prepacking",
            pairs=PAIRS,
            works={
                OURS: Work("our_sessions", "session", MODEL),
                RUNTIME: Work("runtime", "session", MODEL),
            },
            targets=[
                at_least(100, OURS, RUNTIME),
                Count("anonymous memory, bytes", OURS, "rss_anon", 64 << 20),
            ],
            takes=TAKEN,
        ),
        Question(
            key="P23 prepacked",
            title="the same with prepacking",
            pairs=PAIRS,
            works={
                OURS: Work("our_sessions", "prepacked_session", MODEL),
                RUNTIME: Work("runtime", "prepacked_session", MODEL),
            },
            targets=[at_least(2, OURS, RUNTIME)],
            takes=TAKEN,
        ),
        Question(
            key="P23 processes",
            title="four processes open such a session without prepacking, and run it",
            pairs=3,
            works={
                OURS: Work("our_sessions", "session_that_ran", MODEL, processes=PROCESSES),
                RUNTIME: Work(
                    "runtime", "session_that_ran", MODEL, orientation=1, processes=PROCESSES
                ),
            },
            targets=[Count("Pss of all, less idle, bytes", OURS, "pss", int(1.15 * MODEL_BYTES))],
        ),
        Question(
            key="P23 large",
            title="a 3 GB single file: load, open a session without prepacking, and run it",
            pairs=3,
            works={
                OURS: Work("our_sessions", "session_that_ran", LARGER),
                RUNTIME: Work("runtime", "session_that_ran", LARGER, fails=OVER_2GIB),
            },
            targets=[],
        ),
        runs(2),
        runs(256),
        workers("P23 workers", "processes that opened a session and ran it", "session_that_ran"),
        workers(
            "P23 workers prepacked",
            "the same with prepacking",
            "prepacked_session_that_ran",
        ),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_session(ask, key, contender):
    ask(QUESTIONS[key], contender)
