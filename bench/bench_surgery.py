"""How long do the verbs of graph surgery take, beside a load of the file and other libraries?"""

from __future__ import annotations

import pytest

from bench.question import MOST_TAKEN, OURS, Question
from bench.ratios import at_least, at_most
from bench.sampling import Work

NODES, INLINE = "nodes_200k", "inline_1800mb"
LOAD = "onnxmap: load"
VERBS = {
    "prune": ("onnx-ir", NODES, "what no output needs is removed"),
    "sort": ("onnx-ir", NODES, "sorted"),
    "set_dims": ("a loop over protobuf", NODES, "the shape of the input is changed"),
    "rename": ("a loop over protobuf", NODES, "one value is renamed"),
    "extract": ("onnx", INLINE, "a half is extracted"),
    "merge": ("onnx", INLINE, "merged with itself"),
}
SIZES = {NODES: "200 000 nodes, loaded", INLINE: "1.8 GB inline, loaded"}

QUESTIONS = {
    f"P28 {verb}": Question(
        key=f"P28 {verb}",
        title=f"{SIZES[model]}: {title}",
        pairs=9,
        works={
            OURS: Work("our_surgery", verb, model),
            LOAD: Work("our_surgery", "load", model),
            peer: Work("their_surgery", verb, model),
        },
        targets=[at_most(3, OURS, LOAD), at_least(200, OURS, peer)],
        takes=MOST_TAKEN if model == INLINE else 0,
    )
    for verb, (peer, model, title) in VERBS.items()
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_surgery(ask, key, contender):
    ask(QUESTIONS[key], contender)
