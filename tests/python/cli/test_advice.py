"""Advice of the package, as a command says it: with options in the place of arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.processes.command_line import Run

import onnxmap
from onnxmap.errors import Remedy


def remedy(advice: str, *arguments: tuple[str, object]) -> onnxmap.OnnxMapError:
    error = Remedy(advice, arguments)
    return onnxmap.SaveError("it fails", code="save.any", remedy=error)


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        ("show m", remedy("pass {}, please", ("lenient", True)), "pass --lenient, please"),
        ("show m", remedy("{} reads it", ("io", "read")), "--io read reads it"),
        ("show m", remedy("it has {}", ("external_root", ...)), "it has --external-root DIR"),
        (
            "show m",
            remedy("{} or {}", ("external_data", False), ("external_data", "w")),
            "--inline or --external-data w (onnxmap save has these options)",
        ),
        ("save m n", remedy("{} does", ("external_data", "view")), "--view does"),
        ("save m n", remedy("{} does", ("external_data", ...)), "--external-data F does"),
        ("save m n", remedy("{} does", ("max_shard_size_bytes", 9)), "--shard-size 9 does"),
        ("save m n", remedy("{} does", ("sync", False)), "--no-sync does"),
        ("edit m n --prune", ValueError("call infer_shapes() before"), "use --infer-shapes before"),
        ("edit m n --prune", ValueError("convert_version(9) does"), "--convert-version 9 does"),
        (
            "merge m m n",
            ValueError("call convert_version(25) on it"),
            "use --convert-version 25 on it (onnxmap edit has these options)",
        ),
        ("show m", ValueError("with limits=Limits(depth=...)"), "with {} in Python"),
        ("show m", ValueError("see node_outputs() and copy=True"), "see {}"),
    ],
)
def test_arguments_and_verbs_are_said_as_options(
    run: Run, monkeypatch: pytest.MonkeyPatch, line: str, error: Exception, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(onnxmap, "load", fail)
    ran = run(*line.split())
    rest = str(error).partition(" ")[2]
    said = said.format(rest.removeprefix("with "))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.removeprefix("onnxmap: ").removeprefix("it fails; ") == said + "\n"


@pytest.mark.parametrize("name", ["lenient=True", "infer_shapes()", 'io="read"'])
def test_names_stay(run: Run, tmp_path: Path, name: str) -> None:
    """Those of a file and of what is in a model, even if they look like an argument."""
    onnxmap.from_arrays({"w": np.ones(2)}).save(tmp_path / "m.onnx")
    assert f"'{name}'" in run("rename-tensor", tmp_path / "m.onnx", name, "x").err
    assert name in run("show", tmp_path / name).err
    ran = run("edit", tmp_path / "m.onnx", tmp_path / "n.onnx", "--bypass", name)
    assert f"'{name}'" in ran.err
    assert f"'{name}.npz'" in run("save", tmp_path / "m.onnx", tmp_path / f"{name}.npz").err
    assert f"/{name}/'" in run("cp", tmp_path / "m.onnx", f"{tmp_path}/{name}/").err


def test_names_with_quotes_stay(run: Run, tmp_path: Path) -> None:
    name = "it's sort() dtype=3"
    model = onnxmap.from_arrays({"w": np.ones(2)})
    model.graph.nodes.append(onnxmap.make_node("Relu", [name], ["y"]))
    model.save(tmp_path / "m.onnx")
    assert r"'it\'s sort() dtype=3'" in run("check", tmp_path / "m.onnx").out


def test_a_name_that_several_have(run: Run, tmp_path: Path) -> None:
    model = onnxmap.from_arrays({"a": np.ones(1), "b": np.ones(2)})
    model.proto.graph.initializer[1].name = "a"
    model.save(tmp_path / "m.onnx")
    ran = run("rename-tensor", tmp_path / "m.onnx", "a", "c")
    assert "onnxmap ls --all lists their paths" in ran.err


def test_findings(run: Run, tmp_path: Path) -> None:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["a"], ["b"]), onnx.helper.make_node("Relu", ["x"], ["a"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1])],
        [onnx.helper.make_tensor_value_info("b", 1, [1])],
    )
    onnx.save(onnx.helper.make_model(graph, ir_version=10), tmp_path / "m.onnx")
    told = run("check", tmp_path / "m.onnx").out
    assert "Sort the nodes, as --sort does." in told
    assert "(onnxmap edit has these options)" in told
