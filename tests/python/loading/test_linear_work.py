"""Work grows as the file does, in every loop that a user can write over a model."""

from __future__ import annotations

from collections import defaultdict

import pytest
from support.hostile.worst_files import FILES
from support.processes.work import (
    Reads,
    Work,
    counting_reads,
    more_reads,
    places_in,
    takes_steep_time,
)  # fmt: skip
from support.readers.public_loops import (
    NOT_TRIED,
    Loop,
    loops_of,
    objects_of,
    outcome,
    public_classes,
)
from support.run_options import LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.filterwarnings("ignore:.*occurs more than once")

SIZES = 25, 250  # elements of two files
# Messages of at least 32 kB have an index. In smaller ones, an error walks over the message to find
# the path of its tensor. Its work grows with the message, up to 0.1 ms.
INDEXED = 20_000
ERRORS_OF_INDEXED = [
    *(shape for shape in FILES if shape.startswith("bad tensors")),
    "empty initializers",
    "a graph of many pieces in an attribute",
]


def reads_of_loops(data: bytes) -> dict[str, Reads]:
    """How often each loop over a model reads some words of its file."""
    reads = defaultdict(list)
    for places in places_in(data):
        with counting_reads(data, places) as since:
            model = onnxmap.loads(data)
            reads["onnxmap.loads"] += since()
            objects = objects_of(model)
            reads["finding all objects"] += since()
            for kind in objects:
                for name, loop in loops_of(kind):
                    for one in objects[kind]:
                        outcome(loop, one)
                    reads[name] += since()
    return reads


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize("shape", [shape for shape in FILES if shape not in ERRORS_OF_INDEXED])
def test_work_grows_with_the_file(shape: str) -> None:
    small, large = (reads_of_loops(FILES[shape](n)) for n in SIZES)
    assert [name for name in large if more_reads(small.get(name, [0]), large[name])] == []


@pytest.mark.skipif(not LONG, reason="compares times, which other processes can change")
@pytest.mark.parametrize("shape", FILES)
def test_time_grows_with_the_file(shape: str) -> None:
    sizes = 4_000, 16_000
    files = {n: FILES[shape](n) for n in sizes}
    models = {n: onnxmap.loads(data) for n, data in files.items()}
    found = {n: objects_of(model) for n, model in models.items()}
    steep = {
        "onnxmap.loads": takes_steep_time(lambda n: lambda: onnxmap.loads(files[n]), sizes),
        "finding all objects": takes_steep_time(lambda n: lambda: objects_of(models[n]), sizes),
    }
    for kind in found[sizes[1]]:
        for name, loop in loops_of(kind):

            def prepare(n: int, kind: type = kind, loop: Loop = loop) -> Work:
                return lambda: [outcome(loop, one) is None for one in found[n].get(kind, [])]

            steep[name] = takes_steep_time(prepare, sizes)
    assert [name for name, is_steep in steep.items() if is_steep] == []


@pytest.mark.skipif(SANITIZED, reason="nothing is counted under ASan")
@pytest.mark.parametrize("shape", ERRORS_OF_INDEXED)
@pytest.mark.parametrize("name", ["Tensor.numpy", "Tensor: repr"])
def test_errors_of_a_large_file(shape: str, name: str) -> None:
    """A walk to each tensor from the beginning would read the one in the middle 10,000 times."""
    loop = dict(loops_of(onnxmap.Tensor))[name]
    data = FILES[shape](INDEXED)
    reads: Reads = []
    for places in places_in(data):
        tensors = onnxmap.loads(data).tensors()
        with counting_reads(data, places) as since:
            for _, tensor in tensors:
                outcome(loop, tensor)
            reads += since()
    assert sorted(reads)[len(reads) // 2] < 1_000


# No model leads to these classes: other functions load or return them.
OF_NO_MODEL = {
    "Change", "CheckReport", "CopyReport", "DataFile", "DiffList", "Finding", "FunctionDiff",
    "ModelDiff", "ModelStats", "MoveReport", "NodeDiff", "Operator", "OperatorSet",
    "DimReport", "PruneReport", "RebaseReport", "Residency",
    "ResidentBytes", "SaveReport", "TensorDiff", "TensorStats", "TestData", "Use", "ValueDiff",
}  # fmt: skip


def test_every_public_class_is_reached() -> None:
    """If no file led to a class, its members would never be tried."""
    reached = set()
    for make in FILES.values():
        reached |= objects_of(onnxmap.loads(make(2))).keys()
    missing = {kind.__name__ for kind in public_classes()} - {one.__name__ for one in reached}
    assert missing == OF_NO_MODEL


def test_every_member_can_be_tried() -> None:
    """`public_loops` must have an argument for every method that needs one."""
    for make in FILES.values():
        for kind, objects in objects_of(onnxmap.loads(make(2))).items():
            for name, loop in loops_of(kind):
                if "." not in name:
                    continue
                text = str(outcome(loop, objects[0]))
                assert "required positional" not in text, name
                assert "incompatible function arguments" not in text, name
    for name in NOT_TRIED:
        kind, member = name.split(".")
        assert hasattr(getattr(onnxmap, kind), member), name
