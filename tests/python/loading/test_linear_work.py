"""Time grows as the file does, in every loop that a user can write over a model."""

from __future__ import annotations

import gc

import pytest
from support.hostile.worst_files import FILES
from support.processes.steep_times import GROWTH, SHORTEST, too_steep
from support.readers.public_loops import NOT_TRIED, loops_of, objects_of, outcome, public_classes
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

pytestmark = pytest.mark.filterwarnings("ignore:.*occurs more than once")

# Elements of the smaller file, and the least seconds for the larger one that are judged. Quadratic
# work takes as long if it takes 6 ns for each pair of 400 elements, or 5 ns for each pair of 800.
SIZE, LEAST = (4_000 if LONG else 200, SHORTEST) if EXHAUSTIVE else (100, 0.001)


@pytest.fixture(autouse=True)
def _without_collections():
    """Garbage collection is off, because its time depends on all objects of the process."""
    gc.disable()
    yield
    gc.enable()


# Messages of at least 32 kB have an index. In smaller ones, an error walks over the message to find
# the path of its tensor. Its time grows with the message, up to 0.1 ms.
INDEXED = 4_000
ERRORS_OF_INDEXED = [
    *(shape for shape in FILES if shape.startswith("bad tensors")),
    "a graph of many pieces in an attribute",
][:: 1 if EXHAUSTIVE else 3]
GROW_BELOW = {"bad tensors in a graph of many pieces", "a graph of many pieces in an attribute"}


@pytest.mark.skipif(SANITIZED, reason="nothing is timed under ASan")
@pytest.mark.parametrize("shape", [shape for shape in FILES if LONG or shape not in GROW_BELOW])
def test_time_grows_with_the_file(shape: str) -> None:
    files = [FILES[shape](SIZE), FILES[shape](GROWTH * SIZE)]
    models = [onnxmap.loads(data) for data in files]
    walks = [lambda model=model: objects_of(model) for model in models]
    steep = {"finding all objects": too_steep(*walks, LEAST)}
    small, large = (walk() for walk in walks)
    for kind in large:
        for name, loop in loops_of(kind):
            few, many = small.get(kind, []), large[kind]
            steep[name] = too_steep(
                lambda loop=loop, few=few: [outcome(loop, one) is None for one in few],
                lambda loop=loop, many=many: [outcome(loop, one) is None for one in many],
                LEAST,
            )
    steep["onnxmap.loads"] = too_steep(
        lambda: onnxmap.loads(files[0]), lambda: onnxmap.loads(files[1]), LEAST
    )
    assert not {name: times for name, times in steep.items() if times is not None}


@pytest.mark.skipif(SANITIZED, reason="nothing is timed under ASan")
@pytest.mark.parametrize("shape", ERRORS_OF_INDEXED)
def test_errors_of_a_large_file(shape: str) -> None:
    small, large = (onnxmap.loads(FILES[shape](n)).tensors() for n in (INDEXED, GROWTH * INDEXED))
    loops = dict(loops_of(onnxmap.Tensor))
    steep = {
        name: too_steep(
            lambda loop=loops[name]: [outcome(loop, one) is None for _, one in small],
            lambda loop=loops[name]: [outcome(loop, one) is None for _, one in large],
        )
        for name in ("Tensor.numpy", "Tensor: repr")
    }
    assert not {name: times for name, times in steep.items() if times is not None}


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
