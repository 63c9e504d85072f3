"""How long does it take to move weights between ONNX, safetensors and NumPy, and in what memory?"""

from __future__ import annotations

import pytest

from bench.question import OURS, Question
from bench.ratios import Count, Ratio, at_least, at_most
from bench.sampling import Work

MODEL = "float32_3400mb"
FLOOR = "floor F4"
MOST_RESIDENT = 64 << 20
TAKEN = 4 * 10**9  # bytes: more than those of the new files
BY_HAND, CONVERTER = "onnx and safetensors", "onnxconverter-common"
CONVERTED = "copy_bytes_unsynced"
FEW_PAIRS = 5  # that converter takes more than a minute


def moving(
    key: str,
    title: str,
    task: str,
    peers: dict[str, str],
    pairs: int = 9,
    floor: str = "copy_file_unsynced",
    targets: tuple[Ratio, ...] = (),
) -> Question:
    """Return the question for the weights' way into another kind of file, or another type.

    The peers take part for orientation, unless a target names them.
    """
    turns = 0 if targets else 2
    return Question(
        key,
        f"{title}, `sync=False`",
        pairs,
        {
            OURS: Work("ours", task, MODEL),
            FLOOR: Work("floor", floor, MODEL),
            **{label: Work(peer, task, MODEL, orientation=turns) for label, peer in peers.items()},
        },
        [
            at_most(1.3, OURS, FLOOR),
            Count("peak of anonymous + file memory, bytes", OURS, "rss_peak", MOST_RESIDENT),
            *targets,
        ],
        takes=TAKEN,
    )


QUESTIONS = {
    question.key: question
    for question in (
        moving(
            "P12 to safetensors",
            "3.4 GB external: save the weights as safetensors",
            "to_safetensors",
            {"onnx-ir": "ir", "onnx-safetensors": "checkpoints", BY_HAND: "converting"},
        ),
        moving(
            "P12 from safetensors",
            "3.4 GB of safetensors: save a model with a data file",
            "from_safetensors",
            {BY_HAND: "converting"},
        ),
        moving(
            "P12 to npz",
            "3.4 GB external: save the weights as an archive of NumPy",
            "to_npz",
            {"onnx and NumPy": "converting"},
        ),
        moving(
            "P27",
            '3.4 GB of float32: save in one file with `dtype="float16"`',
            "save_float16",
            {CONVERTER: "converting"},
            FEW_PAIRS,
            CONVERTED,
            (at_least(10, OURS, CONVERTER),),
        ),
        moving(
            "P27 from safetensors",
            '3.4 GB of float32 in safetensors: save a model in one file with `dtype="bfloat16"`',
            "safetensors_to_bfloat16",
            {BY_HAND: "converting"},
            FEW_PAIRS,
            CONVERTED,
        ),
    )
}


@pytest.mark.parametrize(
    ("key", "contender"),
    [(key, name) for key, question in QUESTIONS.items() for name in question.contenders],
)
def bench_weights(ask, key, contender):
    ask(QUESTIONS[key], contender)
