"""Times this commit against another one, ours against ours, in turns: A B A B.

    python -m bench.against PYTHON_OF_THIS PYTHON_OF_THE_OTHER [TASK ...]

Both interpreters have onnxmap installed. `make against REV=...` makes them and calls this program.
It prints the median of the paired ratios and its 95 % interval: below 1, this commit is faster.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.backed_memory import BackedMemory
from bench.bench_surgery import VERBS
from bench.models import RECIPES
from bench.ratios import PARITY_PAIRS, bootstrap
from bench.sampling import Model, Work, take_turns

WARMUP_ROUNDS = 2
NODES, CONVOLUTIONS, SMALL, INLINE = (
    "nodes_200k", "convolutions_50k", "small_100k", "inline_1800mb",
)  # fmt: skip
TASKS = {
    "P1 load": ("load", INLINE),
    "P2 views": ("views", INLINE),
    "P5 names_shapes": ("names_shapes", SMALL),
    "P5 views": ("views", SMALL),
    "P10 stream": ("stream_64mib", INLINE),
    "P11 arrays": ("arrays", INLINE),
    "P15 load": ("load", NODES),
    "P15 op_types": ("op_types", NODES),
    "P15 node_inputs": ("node_inputs", NODES),
    "P15 walk": ("walk", NODES),
    "P15 count_inputs": ("count_inputs", NODES),
    "P15 node_names": ("node_names", NODES),
    "P15 attribute_values": ("attribute_values", CONVOLUTIONS),
    "P15 attribute_names": ("attribute_names", CONVOLUTIONS),
    "P15 tensor_shapes": ("tensor_shapes", SMALL),
    "P17 float8": ("to_float32", "float8_e4m3fn_ordinary"),
    "P17 float16": ("to_float32", "float16_ordinary"),
    "P17 to_float16": ("to_float16", "float32_ordinary"),
    "P22 edit_node": ("edit_node", NODES),
    "P22 edit_node_and_save": ("edit_node_and_save", NODES),
    "P24 index": ("index", NODES),
    "P25 check": ("check_structure", NODES),
    "P28 prune": ("prune", NODES),
    "P28 sort": ("sort", NODES),
    "P28 set_dims": ("set_dims", NODES),
    "P28 rename": ("rename", NODES),
    "P29 check": ("check_operators", NODES),
}


def main() -> None:
    """Print a line for each task."""
    ours, other, *chosen = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="onnxmap-against-") as folder:
        for title, (task, model) in TASKS.items():
            if chosen and task not in chosen:
                continue
            if not (path := Path(folder) / model).exists():
                RECIPES[model].make(path, smoke=False)
            print(f"{title:22}", line(ours, other, task, Model(path, True)), flush=True)


def line(ours: str, other: str, task: str, model: Model) -> str:
    """Return the ratio of one task, or why there is none."""
    peer = "our_surgery" if task in VERBS else "ours"
    works = {
        "this": Work(peer, task, "model", python=ours),
        "other": Work(peer, task, "model", python=other),
    }
    with BackedMemory(0) as memory:
        samples = take_turns(works, {"model": model}, PARITY_PAIRS, WARMUP_ROUNDS, memory)
    for label, found in samples.items():
        if found[0].error:
            return f"{label}: {found[0].error}"
    seconds = {label: [one.seconds for one in found] for label, found in samples.items()}
    ratios = [a / b for a, b in zip(seconds["this"], seconds["other"], strict=True)]
    low, high = bootstrap(ratios)
    times = ", ".join(f"{label} {median(found) * 1e3:.3f} ms" for label, found in seconds.items())
    return f"{median(ratios):.3f}x ({low:.3f} to {high:.3f})   {times}"


if __name__ == "__main__":
    main()
