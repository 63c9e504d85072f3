"""A caller's buffer or a mapped file changes after loading. Any result is allowed, but no crash."""

from __future__ import annotations

from pathlib import Path

from support.models.small import SMALL_MODELS
from support.processes.subprocesses import facts_from
from support.run_options import LONG

READ_EVERYTHING = """
import random
import warnings
import numpy as np
import onnxmap

warnings.simplefilter("ignore", onnxmap.RepeatedKeyWarning)  # a changed key may be a repeated one

def read_everything(model):
    graph = attempt(lambda: model.graph)
    if graph is None:
        return
    steps = [
        lambda: graph.op_types(), lambda: graph.op_counts(), lambda: graph.node_names(),
        lambda: graph.node_inputs(), lambda: graph.node_outputs(),
        lambda: graph.initializers.names(),
        lambda: graph.initializers.shapes(), lambda: graph.initializers.dtypes(),
        lambda: graph.initializers.nbytes(), lambda: str(model.proto), lambda: walk(model.proto),
        lambda: [repr(node) + repr(list(node.attributes.values())) for node in graph.nodes],
        lambda: [(v.name, v.shape, v.type, v.dtype) for v in [*graph.inputs, *graph.value_infos]],
        lambda: [(f.name, len(f.nodes)) for f in model.functions],
        lambda: model.views(), lambda: list(model.metadata_props.items()), lambda: repr(model),
        lambda: model._repr_html_(),
    ]
    for step in steps:
        attempt(step)
    for tensor in attempt(lambda: [t for _, t in model.tensors()]) or []:
        attempt(lambda: use(tensor))

def use(tensor):
    repr(tensor), tensor.external, tensor.shape, tensor[:1]
    if tensor.dtype != onnxmap.DataType.STRING:
        tensor.tobytes()
    array = tensor.numpy()
    array.tobytes()

def walk(view):
    for field, value in view.ListFields():
        for inner in value if hasattr(value, "__len__") else [value]:
            if isinstance(inner, onnxmap.ProtoView):
                walk(inner)
    list(view.unknown_fields)

counts = {"errors": 0, "answers": 0}

def attempt(step):
    try:
        answer = step()
    except (onnxmap.OnnxMapError, KeyError, IndexError):
        counts["errors"] += 1
        return None
    counts["answers"] += 1
    return answer
"""

CHANGE_BUFFER = (
    READ_EVERYTHING
    + """
from support.models.small import SMALL_MODELS
rounds = int(sys.argv[1])

def change(good, rng):
    buffer = bytearray(good)
    model = onnxmap.loads(buffer)
    nodes, inputs = list(model.graph.nodes), list(model.graph.inputs)
    tensors = [tensor for _, tensor in model.tensors()]
    for _ in range(rng.choice([1, 1, 2, 8, len(good)])):
        buffer[rng.randrange(len(good))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    read_everything(model)
    for node in nodes:
        attempt(lambda: (repr(node), node.inputs, node.op_type, dict(node.attributes), node.proto))
    for tensor in tensors:
        attempt(lambda: use(tensor))
    buffer[:] = good
    assert model.graph.name == onnxmap.loads(good).graph.name

found = {}
for name, good in SMALL_MODELS.items():
    print(name, file=sys.stderr)  # after a crash, the last line names the model
    rng = random.Random(name)
    for _ in range(rounds):
        change(good, rng)
    found[name] = counts.copy()
    counts.update(errors=0, answers=0)
report(**found)
"""
)


def test_changes_in_the_caller_s_buffer() -> None:
    rounds = 3_000 if LONG else 100
    found = facts_from(CHANGE_BUFFER, str(rounds), timeout=3_000 if LONG else 120)
    assert list(found) == list(SMALL_MODELS)
    for name, facts in found.items():
        assert facts["answers"] > rounds, name
        assert facts["errors"] > rounds // 2, name


CHANGE_FILE = (
    READ_EVERYTHING
    + """
from support.models.small import SMALL_MODELS
path, rounds = sys.argv[1], int(sys.argv[2])
rng = random.Random(7)
for turn in range(rounds):
    good = rng.choice(list(SMALL_MODELS.values()))
    with open(path, "wb") as file:
        file.write(good)
    model = onnxmap.load(path, io="mmap")
    with open(path, "r+b") as file:
        for _ in range(rng.choice([1, 4, len(good)])):
            file.seek(rng.randrange(len(good)))
            file.write(bytes([rng.randrange(256)]))
    read_everything(model)
    del model
report(**counts)
"""
)


def test_changes_in_a_mapped_file(tmp_path: Path) -> None:
    rounds = 5_000 if LONG else 300
    facts = facts_from(CHANGE_FILE, str(tmp_path / "model.onnx"), str(rounds))
    assert facts["answers"] > rounds
    assert facts["errors"] > rounds // 2
