"""How long does it take to save a model in another form or folder, and how much memory?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, Count, Ratio, at_most
from bench.sampling import Work

INLINE, EXTERNAL = "inline_1800mb", "external_1800mb"
FLOOR = "floor F4"
MOST_RESIDENT = 64 << 20
TAKEN = 2 * 10**9  # bytes: more than those of the new files
PAIRS = 15


def moving(key: str, title: str, task: str, model: str, synced: bool) -> Question:
    """Return the question for the weights' way into or out of the model file."""
    suffix = "" if synced else "_unsynced"
    works = {
        OURS: Work("ours", task + suffix, model),
        FLOOR: Work("floor", "copy_file" + suffix, model),
    }
    if not synced:  # the peers never wait for the disk
        works["onnx"] = Work("official", task, model, orientation=2)
        works["onnx-ir"] = Work("ir", task, model, orientation=2)
    targets: list[Ratio | Count] = [
        at_most(1.3, OURS, FLOOR),
        Count("peak of anonymous + file memory, bytes", OURS, "rss_peak", MOST_RESIDENT),
    ]
    return Question(key, title, PAIRS, works, targets, takes=TAKEN)


TO_EXTERNAL = "1.8 GB inline: load, and save with a data file"
TO_INLINE = "1.8 GB external: load, and save in one file"
P13 = Question(
    key="P13",
    title="1.8 GB external: load, and save into another folder, `sync=False`",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "to_folder", EXTERNAL),
        "onnx-ir": Work("ir", "to_folder", EXTERNAL),
        FLOOR: Work("floor", "copy_file_unsynced", EXTERNAL, orientation=9),
    },
    targets=[at_most(1.0, OURS, "onnx-ir")],
    takes=TAKEN,
)

QUESTIONS = {
    question.key: question
    for question in (
        moving("P12 to external", TO_EXTERNAL, "to_external", INLINE, synced=True),
        moving(
            "P12 to external unsynced",
            f"{TO_EXTERNAL}, `sync=False`",
            "to_external",
            INLINE,
            synced=False,
        ),
        moving("P12 to inline", TO_INLINE, "to_inline", EXTERNAL, synced=True),
        moving(
            "P12 to inline unsynced",
            f"{TO_INLINE}, `sync=False`",
            "to_inline",
            EXTERNAL,
            synced=False,
        ),
        P13,
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_save(ask, key, contender):
    ask(QUESTIONS[key], contender)
