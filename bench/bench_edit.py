"""How long does one edit take: in memory, appended to the file, and with load and save?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import PARITY_PAIRS, Ratio, at_least, at_most
from bench.sampling import Work
from bench.tasks import EDITED_NODES, REMOVED_NODES

NODES, INLINE, INLINE_SMALL = "nodes_200k", "inline_1800mb", "inline_100mb"
FLOOR, SMALLER = "floor F4", "onnxmap, 0.1 GB"
MICROSECOND = 1e-6
TAKEN = 2 * 10**9  # bytes: more than those of the new files


def edits_in_memory(key: str, title: str, task: str, count: int) -> Question:
    """Return the question for `count` edits of a loaded model. Their mean has a bound."""
    mean = Ratio(
        "microseconds an edit", lambda seconds: seconds[OURS] / count / MICROSECOND, 50, True
    )
    works = {OURS: Work("ours", task, NODES), "onnx": Work("official", task, NODES, orientation=3)}
    return Question(key, title, 9, works, [mean])


P14 = Question(
    key="P14",
    title="1.8 GB inline: one metadata key added to the file in place",
    pairs=9,
    works={
        OURS: Work("ours", "add_metadata", INLINE),
        "onnx": Work("official", "add_metadata", INLINE),
    },
    targets=[at_least(1000, OURS, "onnx")],
    takes=MOST_TAKEN,
)
P14_SIZE = Question(
    key="P14 size",
    title="the same, and on a file of 0.1 GB with as many tensors",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "add_metadata", INLINE),
        SMALLER: Work("ours", "add_metadata", INLINE_SMALL),
    },
    targets=[at_most(1.5, OURS, SMALLER)],
)
P22_SAVED = Question(
    key="P22 node saved",
    title="200 000 nodes: load, edit one node's op_type, save, `sync=False`",
    pairs=9,
    works={
        OURS: Work("ours", "edit_node_and_save", NODES),
        "onnx": Work("official", "edit_node_and_save", NODES),
    },
    targets=[at_least(15, OURS, "onnx")],
)
REMOVED = Question(
    key="P22 removed nodes",
    title=f"200 000 nodes, loaded: {REMOVED_NODES:,} taken out one by one, their users rewired",
    pairs=9,
    works={
        OURS: Work("ours", "remove_nodes", NODES),
        "onnx-ir": Work("ir", "remove_nodes", NODES),
    },
    targets=[at_most(4, OURS, "onnx-ir")],
)
P22_ATTRIBUTE = Question(
    key="P22 attribute saved",
    title="1.8 GB inline: load, set one attribute, save, `sync=False`",
    pairs=PARITY_PAIRS,
    works={
        OURS: Work("ours", "edit_attribute_and_save", INLINE),
        FLOOR: Work("floor", "copy_file_unsynced", INLINE),
        "onnx": Work("official", "edit_attribute_and_save", INLINE, orientation=2),
    },
    targets=[at_most(1.15, OURS, FLOOR)],
    takes=TAKEN,
)

QUESTIONS = {
    question.key: question
    for question in (
        P14,
        P14_SIZE,
        edits_in_memory(
            "P22 first edit", "200 000 nodes, just loaded: one op_type", "edit_node", 1
        ),
        edits_in_memory(
            "P22 edits",
            f"200 000 nodes, loaded: {EDITED_NODES:,} op_types, one after another",
            "edit_nodes",
            EDITED_NODES,
        ),
        P22_SAVED,
        REMOVED,
        P22_ATTRIBUTE,
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_edit(ask, key, contender):
    ask(QUESTIONS[key], contender)
