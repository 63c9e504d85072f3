"""`onnxmap merge`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.processes.command_line import Run

import onnxmap


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path]:
    """`a.onnx` makes `hidden` and `more` of `x`, and `b.onnx` makes `y` of `states`."""
    for name, op_type, given, made in (
        ("a", "Mul", ["x"], ["hidden", "more"]),
        ("b", "Add", ["states", "others"], ["y"]),
    ):
        nodes = [helper.make_node(op_type, [given[0], "w"], [each]) for each in made]
        ends = [
            [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["N", 2]) for each in names]
            for names in (given, made)
        ]
        weight = numpy_helper.from_array(np.float32([ord(name), len(op_type)]), "w")
        graph = helper.make_graph(nodes, name, *ends, [weight])
        saved = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        (tmp_path / f"{name}.onnx").write_bytes(saved.SerializeToString())
    return tmp_path / "a.onnx", tmp_path / "b.onnx"


CONNECT = ("--connect", "hidden=states", "--prefix", "b.")


def inputs_of(model: onnxmap.Model) -> list[str]:
    return [each.name for each in model.graph.inputs]


def test_it_does_what_merge_does(run: Run, models: tuple[Path, Path]) -> None:
    a, b = models
    before, out = (a.read_bytes(), b.read_bytes()), a.parent / "out.onnx"
    ran = run("merge", a, b, out, *CONNECT, "--connect", "more=others")
    assert (ran.status, ran.err) == (0, "")
    connect = {"hidden": "states", "more": "others"}
    merged = onnxmap.merge(onnxmap.load(a), onnxmap.load(b), connect, "b.")
    assert str(onnxmap.diff(out, merged)) == "no differences"
    assert inputs_of(merged) == ["x"]
    assert (a.read_bytes(), b.read_bytes()) == before
    assert run("merge", a, b, out, "--prefix", "b.").status == 0
    assert inputs_of(onnxmap.load(out)) == ["x", "b.states", "b.others"]
    more = ("--connect", "hidden=others")
    assert run("merge", a, b, out, *CONNECT, *more).status == 0
    assert inputs_of(onnxmap.load(out)) == ["x"]
    assert run("merge", a, a, out, "--prefix", "b.", "--share", "x").status == 0
    assert inputs_of(onnxmap.load(out)) == ["x"]
    assert run("merge", a, b, a, *CONNECT, "--json").status == 0
    assert inputs_of(onnxmap.load(a)) == ["x", "b.others"]


def test_a_dry_run_prints_the_difference_from_the_first(
    run: Run, models: tuple[Path, Path]
) -> None:
    a, b = models
    out = a.parent / "out.onnx"
    ran = run("merge", a, b, out, *CONNECT, "--dry-run")
    assert (ran.status, ran.err, out.exists()) == (0, "", False)
    told = json.loads(run("merge", a, b, out, *CONNECT, "--dry-run", "--json").out)
    assert run("merge", a, b, out, *CONNECT).status == 0
    assert ran.out == run("diff", a, out).out
    assert told == {"verbs": [], **json.loads(run("diff", a, out, "--json").out)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "both models have a value 'w': give a prefix"),
        (("--connect", "hidden"), "must be of the form NAME=VALUE"),
        (("--connect", "nope=states", "--prefix", "b."), "the first model has no output 'nope'\n"),
        (("--connect", "hidden=nope", "--prefix", "b."), "the second model has no input 'nope'\n"),
        ((*CONNECT, "--connect", "hidden=states"), "'states' is connected twice"),
        ((*CONNECT, "--share", "x"), "not both models have an input 'x'"),
        (("--connect", "hidden=\udcff"), "is not UTF-8"),
        (("--prefix", "\udcff"), "is not UTF-8"),
        ((*CONNECT, "--view", "--align", "64"), "--align N has no use with --view"),
    ],
)
def test_what_is_refused_writes_nothing(
    run: Run, models: tuple[Path, Path], options: tuple[str, ...], said: str
) -> None:
    out = models[0].parent / "out.onnx"
    ran = run("merge", *models, out, *options)
    assert (ran.status, ran.out, ran.err.count("\n"), out.exists()) == (2, "", 1, False)
    assert said in ran.err


def test_standard_input(
    run: Run, models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = models
    for last, out in (("one.onnx", ()), ("none.onnx", ("--dry-run",))):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(a.read_bytes())))
        ran = run("merge", "-", b, a.parent / last, *CONNECT, *out)
        assert (ran.status, ran.err) == (0, "")
    assert run("merge", a, b, a.parent / "two.onnx", *CONNECT).status == 0
    assert onnxmap.diff(a.parent / "one.onnx", a.parent / "two.onnx").same
    assert not (a.parent / "none.onnx").exists()
    ran = run("merge", a, "-", a.parent / "none.onnx", *CONNECT)
    assert (ran.status, ran.err) == (
        2,
        "onnxmap: only A can be standard input; write B to a file\n",
    )


def test_weights_in_data_files(run: Run, models: tuple[Path, Path], tmp_path: Path) -> None:
    for path in models:
        data = f"{path.stem}.data"
        assert run("save", path, path, "--external-data", data, "--threshold", "0").status == 0
    out = tmp_path / "out.onnx"
    assert run("merge", *models, out, *CONNECT).status == 0
    placed = onnxmap.load(out).initializers
    assert [str(placed[name].external and placed[name].external.location) for name in placed] == [
        "a.data",
        "b.data",
    ]
    assert run("merge", *models, out, *CONNECT, "--inline").status == 0
    assert onnxmap.load(out).external_files == []
    assert list(onnxmap.load(out).initializers["b.w"].numpy()) == [ord("b"), 3]
