"""How long does it take to load 200 000 nodes, to get columns, to walk them, and to find them?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import PARITY_PAIRS, at_least
from bench.sampling import Work

NODES = "nodes_200k"


def against_onnx(task: str, title: str, bound: float, slow_ir_rounds: int, pairs: int) -> Question:
    """Return the question for one kind of work, compared with the package `onnx`."""
    works = {OURS: Work("ours", task, NODES), "onnx": Work("official", task, NODES)}
    if slow_ir_rounds:
        works["onnx-ir"] = Work("ir", task, NODES, orientation=slow_ir_rounds)
    return Question(f"P15 {task}", title, pairs, works, [at_least(bound, OURS, "onnx")])


# The index is compared with the mere load of `onnx`, which has none.
INDEX = Question(
    "P24 index",
    "index of a loaded model: nodes by name, producers and uses of values",
    9,
    {
        OURS: Work("ours", "index", NODES),
        "onnx, load": Work("official", "load", NODES),
        "onnx, dicts": Work("official", "index", NODES, orientation=3),
    },
    [at_least(10, OURS, "onnx, load")],
)


def loop(task: str, title: str, model: str, bound: float) -> Question:
    """Return the question for a Python loop over objects that exist already."""
    works = {OURS: Work("ours", task, model), "onnx": Work("official", task, model)}
    return Question(f"P15 {task}", title, PARITY_PAIRS, works, [at_least(bound, OURS, "onnx")])


LOOPS = (
    loop("count_inputs", "len(node.inputs) of 200 000 nodes", NODES, 0.6),
    loop("node_names", "node.name of 200 000 nodes", NODES, 0.6),
    loop("attribute_values", "an attribute's value of 50 000 nodes", "convolutions_50k", 1.26),
    loop("attribute_names", "list(node.attributes) of 50 000 nodes", "convolutions_50k", 0.4),
    loop("tensor_shapes", "tensor.shape of 100 000 initializers", "small_100k", 0.6),
)

QUESTIONS = {
    question.key: question
    for question in (
        against_onnx("load", "200 000 nodes (18.5 MB): load", 40, 2, 9),
        against_onnx("op_types", "op_types() of a loaded model", 8, 1, 9),
        against_onnx("node_inputs", "node_inputs() of a loaded model", 3, 1, 9),
        against_onnx("walk", "Python walk: op_type and inputs of every node", 0.6, 0, PARITY_PAIRS),
        INDEX,
        *LOOPS,
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_nodes(ask, key, contender):
    ask(QUESTIONS[key], contender)
