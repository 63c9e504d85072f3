"""`onnxmap rename-tensor`."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from support.models.weighted import Values, locations_of, values_of
from support.processes.command_line import Run


def inputs_of(path: Path) -> list[str]:
    return list(onnx.load(str(path)).graph.node[0].input)


def test_over_the_file(run: Run, model: Path, values: Values) -> None:
    ran = run("rename-tensor", model, "outside", "new name", "--json")
    assert ran.status == 0
    assert json.loads(ran.out)["uses"] == 1
    assert inputs_of(model) == ["new name", "inside"]
    assert values_of(model) == {"new name": values["outside"], "inside": values["inside"]}
    assert locations_of(model) == {"new name": "w.bin"}


def test_to_another_file(run: Run, model: Path) -> None:
    before = model.read_bytes()
    out = model.parent / "n.onnx"
    ran = run("rename-tensor", model, "inside", "\x1b[31m", "-o", out)
    assert ran.status == 0
    assert ran.out.startswith(r"renamed 'inside' to '\x1b[31m' and 1 use" + "\n")
    assert model.read_bytes() == before
    assert inputs_of(out) == ["outside", "\x1b[31m"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("outsid", "x"), "no tensor is named 'outsid'; did you mean 'outside'?"),
        (("side*", "x"), "'side*'; did you mean 'inside' or 'outside'?\n"),
        (("outside", "inside"), "has a value of the name 'inside' already"),
        (("outside", "y"), "has a value of the name 'y' already"),
        (("outside", ""), "a value needs a name"),
    ],
)
def test_names_that_cannot_be(run: Run, model: Path, names: tuple[str, str], said: str) -> None:
    before = model.read_bytes()
    ran = run("rename-tensor", model, *names)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err
    assert model.read_bytes() == before
