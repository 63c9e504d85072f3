"""Random programs of edits leave a model as they leave protobuf's message.

The first tests check the programs themselves, on protobuf alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.edits.models import EDIT_MODELS, edited_model
from support.edits.programs import KINDS, random_program
from support.edits.runs import (
    REMOVED,
    Edit,
    OnnxmapSide,
    OracleSide,
    Program,
    Run,
    Side,
    difference,
    executed,
    shrunk,
)
from support.readers.whole_models import disagreement
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

PROGRAMS = 20_000 if LONG else 50 if SANITIZED else 500 if EXHAUSTIVE else 60
EXAMPLES = 5_000 if LONG else 20 if SANITIZED else 200 if EXHAUSTIVE else 30
SIZE = 25  # edits of a program
CHECKED = 200 if EXHAUSTIVE else 100  # programs that have every kind of edit


@cache
def program_of(seed: int) -> Program:
    return random_program(seed, SIZE)


class CarefulOracle(OracleSide):
    """Protobuf's messages, which refuse to be written to after they were removed."""

    def run(self, edit: Edit, names: dict[str, Any]) -> None:
        if edit.kind == REMOVED:
            raise ValueError("the message was removed")
        super().run(edit, names)


class Forgetful(CarefulOracle):
    """Leaves out the edits of one kind."""

    def __init__(self, program: Program, kind: str) -> None:
        super().__init__(program)
        self.kind = kind

    def run(self, edit: Edit, names: dict[str, Any]) -> None:
        if edit.kind != self.kind:
            super().run(edit, names)


class Wrong(CarefulOracle):
    """Shows a model with a byte too many."""

    def form(self, message: Any) -> bytes:
        return super().form(message) + (b"!" if message is self.model else b"")


@pytest.mark.skipif(SANITIZED, reason="the programs alone; no line of the core runs")
def test_every_kind_occurs() -> None:
    counts = Counter(edit.kind for seed in range(CHECKED) for edit in program_of(seed).edits)
    assert set(counts) == set(KINDS)
    assert len(KINDS) >= 75
    assert min(counts.values()) >= CHECKED // 60


def test_every_model_can_be_edited() -> None:
    """Each is what protobuf accepts, and has a graph."""
    for name in [*EDIT_MODELS, *(f"mutant {number}" for number in range(50))]:
        assert OracleSide(Program(name, name, ())).model.HasField("graph"), name
        assert onnxmap.loads(edited_model(name)).proto.HasField("graph"), name


@pytest.mark.skipif(SANITIZED, reason="the oracles alone; no line of the core runs")
def test_two_oracles_agree() -> None:
    for seed in range(CHECKED // 4):
        assert difference(program_of(seed), CarefulOracle) == "", seed


def test_a_longer_program_starts_with_the_shorter_one() -> None:
    for seed in range(5):
        short, long = random_program(seed, 7), program_of(seed)
        assert (short.model, short.other, short.edits) == (long.model, long.other, long.edits[:7])


def changing_edit(kind: str) -> Program | None:
    """A program with one edit of this kind, the last one, which changes the model."""
    for seed in range(CHECKED):
        program = program_of(seed)
        for at, edit in enumerate(program.edits):
            if edit.kind == kind:
                cut = Program(program.model, program.other, program.edits[: at + 1])
                run = Run(OracleSide(cut), is_oracle=True)
                for before in cut.edits[:-1]:
                    if run.removed_target(before) is None:
                        run.execute(before)
                state = run.state()
                if run.removed_target(edit) is None:
                    run.execute(edit)
                is_first = all(one.kind != kind for one in cut.edits[:-1])
                # A comparison may end early, if protobuf stops in the middle of an edit.
                if is_first and run.state() != state and difference(cut, Wrong) != "":
                    return cut
    return None


# Kinds that change nothing, or whose first statement mostly raises.
UNCHANGING = {
    "append a wrong value", "assign a wrong value", "assign to a message of a list",
    "clear an absent field", "copy itself", "keep a list", "keep a message", "look at presence",
    "use a wrong index", REMOVED,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(set(KINDS) - UNCHANGING))
def test_a_side_that_forgets_a_kind_is_found(kind: str) -> None:
    program = changing_edit(kind)
    assert program is not None
    assert difference(program, lambda program: Forgetful(program, kind)) != ""


def test_a_failing_program_shrinks() -> None:
    program = changing_edit("reverse messages")
    assert program is not None

    def fails(shorter: Program) -> bool:
        return difference(shorter, lambda one: Forgetful(one, "reverse messages")) != ""

    small = shrunk(program, fails)
    assert fails(small)
    assert small.edits[-1].kind == "reverse messages"
    assert len(small.edits) < len(program.edits)
    assert "reverse()" in str(small)


def test_readings_that_disagree_are_found() -> None:
    for name in ("plain_nodes", "raw_initializers", "rich"):
        model = onnxmap.loads(EDIT_MODELS[name])
        assert disagreement(model, EDIT_MODELS[name]) == ""
        assert disagreement(model, EDIT_MODELS["functions"]) != ""


def check(program: Program, make: Callable[[Program], Side] = OnnxmapSide) -> None:
    """Assert that onnxmap agrees; otherwise show the shortest program that fails."""
    if difference(program, make):
        small = shrunk(program, lambda shorter: difference(shorter, make) != "")
        pytest.fail(
            f"{difference(small, make, each_step=True) or difference(small, make)}\n{small}"
        )


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed: int) -> None:
    check(program_of(seed))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32), st.integers(0, 2 * SIZE))
def test_drawn_programs(seed: int, size: int) -> None:
    """Hypothesis shrinks the number of edits."""
    check(random_program(seed, size))


@pytest.mark.parametrize("seed", range(PROGRAMS // 4))
def test_every_reading_shows_the_edits(seed: int) -> None:
    program = program_of(seed)
    ours = executed(program)
    assert disagreement(ours.models[0]) == "", program
    assert disagreement(ours.models[1]) == "", program


@pytest.mark.parametrize("name", EDIT_MODELS)
def test_an_edit_that_is_undone_changes_no_byte(name: str) -> None:
    """Nothing but what was touched is written anew."""
    model = onnxmap.loads(EDIT_MODELS[name])
    assert onnxmap.dumps(model) == EDIT_MODELS[name]
    model.proto.functions.add()
    del model.proto.functions[-1]
    assert onnxmap.dumps(model) == EDIT_MODELS[name]
