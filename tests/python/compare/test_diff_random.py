"""`onnxmap.diff` after random edits finds a difference exactly if protobuf's messages differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.edits.models import EDIT_MODELS, edited_model
from support.edits.programs import random_program
from support.edits.runs import executed
from support.oracles.canonical import message_class
from support.oracles.diff import canonical
from support.run_options import EXHAUSTIVE, LONG, SANITIZED
from support.saves.models import SAVE_MODELS

import onnxmap

PROGRAMS = 5_000 if LONG else 20 if SANITIZED else 500 if EXHAUSTIVE else 60


def told_the_same(data: bytes, other: bytes) -> bool:
    messages = [message_class("ModelProto").FromString(one) for one in (data, other)]
    first, second = (canonical(one) for one in messages)  # type: ignore[arg-type]
    return first == second


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_edits(seed: int) -> None:
    program = random_program(1_000_000 + seed, seed % 6)
    ours = executed(program)
    for model, name in zip(ours.models, (program.model, program.other), strict=True):
        before = onnxmap.loads(edited_model(name))
        after = onnxmap.dumps(model)
        found = onnxmap.diff(before, model)
        # A buffer has no folder: nobody can tell whether its external data are equal.
        if not any(tensor.is_external for _, tensor in (*before.tensors(), *model.tensors())):
            assert found.same == told_the_same(edited_model(name), after), f"{program}\n{found}"
            if model.proto.HasField("graph"):
                assert onnxmap.diff(model, onnxmap.loads(after)).same, program
        assert onnxmap.diff(model, before).same == found.same


@pytest.mark.parametrize("name", SAVE_MODELS)
def test_a_saved_model_is_the_same(name: str, tmp_path: Path) -> None:
    """In every form that a save can give it."""
    (tmp_path / "in").mkdir()
    path = SAVE_MODELS[name](tmp_path / "in")
    model = onnxmap.load(path)
    assert onnxmap.diff(model, path).same
    for number, options in enumerate(({"external_data": False}, {"external_data": "w.data"}, {})):
        out = tmp_path / str(number)
        out.mkdir()
        onnxmap.save(model, out / "m.onnx", size_threshold_bytes=1, **options)  # type: ignore[arg-type]
        assert onnxmap.diff(model, out / "m.onnx").same
        assert onnxmap.diff(onnxmap.load(out / "m.onnx", io="read"), path).same


def test_models_that_differ_are_told_apart() -> None:
    """Any two of the models, in both directions."""
    names = [name for name in EDIT_MODELS if name != "many nodes"][::4]
    for a in names:
        for b in names:
            if a < b and not told_the_same(EDIT_MODELS[a], EDIT_MODELS[b]):
                found = onnxmap.diff(onnxmap.loads(EDIT_MODELS[a]), onnxmap.loads(EDIT_MODELS[b]))
                assert not found.same, (a, b)
                assert str(found)
