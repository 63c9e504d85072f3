"""`onnxmap diff`: its text, its JSON and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.models.hard_names import EVIL_NAME
from support.models.sample import external, write
from support.processes.command_line import Ran, Run

import onnxmap


def model(path: Path, last: float = 3.0, axis: int = 1, name: str = "w") -> Path:
    node = helper.make_node("Softmax", ["w"], ["y"], name="soft", axis=axis)
    weight = numpy_helper.from_array(np.array([1, 2, last], np.float32), name)
    graph = onnx.GraphProto(name="g", node=[node], initializer=[weight])
    return write(ModelProto(ir_version=10, graph=graph), path)


def test_the_same(run: Run, tmp_path: Path) -> None:
    a, b = (model(tmp_path / name) for name in ("a.onnx", "b.onnx"))
    assert run("diff", a, b) == Ran(0, "no differences\n", "")


def test_different(run: Run, tmp_path: Path) -> None:
    a, b = model(tmp_path / "a.onnx"), model(tmp_path / "b.onnx", last=4, axis=2)
    assert run("diff", a, b) == Ran(
        1,
        "nodes: 1 changed\n"
        "  ~ Softmax 'soft' at graph.node[0]\n"
        '      attribute["axis"].i: 1 -> 2\n'
        "tensors: 1 changed\n"
        "  ~ 'w' (FLOAT [3]), 1 of its elements changed (33.333%), largest difference 1 at [2], "
        "relative 0.25 at [2]\n",
        "",
    )


def test_json(run: Run, tmp_path: Path) -> None:
    a, b = model(tmp_path / "a.onnx"), model(tmp_path / "b.onnx", last=float("nan"))
    ran = run("diff", a, b, "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["same"], told["nodes"]) == (1, False, [])
    (tensor,) = told["tensors"]
    assert (tensor["nan_changed"], tensor["max_abs"], tensor["dtype_a"]) == (1, None, "FLOAT")
    ran = run("diff", a, a, "--json")
    assert (ran.status, json.loads(ran.out)["same"]) == (0, True)


def test_names_are_escaped(run: Run, tmp_path: Path) -> None:
    a, b = model(tmp_path / "a.onnx", name=EVIL_NAME), model(tmp_path / "b.onnx", 4, name=EVIL_NAME)
    ran = run("diff", a, b)
    assert ran.status == 1
    assert "\x1b" not in ran.out


def test_a_missing_data_file_is_a_finding(run: Run, tmp_path: Path) -> None:
    graph = onnx.GraphProto(initializer=[external("w", [3], {"location": "gone.data"})])
    path = write(ModelProto(graph=graph), tmp_path / "a.onnx")
    ran = run("diff", path, write(ModelProto(graph=graph), tmp_path / "b.onnx"))
    assert ran.status == 1
    assert "cannot be compared: tensor 'w': " in ran.out


@pytest.mark.parametrize("option", ["--external-root", "--link-policy", "--io"])
def test_opening_options(run: Run, tmp_path: Path, option: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.data").write_bytes(bytes(12))
    graph = onnx.GraphProto(initializer=[external("w", [3], {"location": "w.data"})])
    a = write(ModelProto(graph=graph), tmp_path / "a.onnx")
    values = {"--external-root": tmp_path / "data", "--link-policy": "strict", "--io": "read"}
    ran = run("diff", a, a, option, values[option])
    assert ran.status == (0 if option == "--external-root" else 1)


class TestFailures:
    def test_an_unreadable_model(self, run: Run, tmp_path: Path) -> None:
        a = model(tmp_path / "a.onnx")
        ran = run("diff", a, tmp_path / "gone.onnx")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "gone.onnx" in ran.err

    def test_one_model(self, run: Run, tmp_path: Path) -> None:
        assert run("diff", model(tmp_path / "a.onnx")).status == 2

    def test_standard_input_twice(self, run: Run) -> None:
        ran = run("diff", "-", "-")
        assert (ran.status, ran.err) == (
            2,
            "onnxmap: standard input can be only one of the models\n",
        )

    def test_standard_input(self, tmp_path: Path) -> None:
        a = model(tmp_path / "a.onnx")
        command = [sys.executable, "-m", "onnxmap", "diff", "-", str(a)]
        with a.open("rb") as file:
            ran = subprocess.run(command, stdin=file, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout) == (0, b"no differences\n")


def test_options(run: Run, tmp_path: Path) -> None:
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnxmap.from_arrays({"w": np.ones(3, np.float32)}).save(paths[0])
    onnxmap.from_arrays({"w": np.full(3, 1.25, np.float16)}).save(paths[1])
    assert run("diff", *paths, "--cast", "--atol", "0.3").status == 0
    ran = run("diff", *paths, "--cast", "--ignore", "names", "--ignore", "docs", "--json")
    assert ran.status == 1
    assert json.loads(ran.out)["tensors"][0]["max_abs"] == 0.25
    text = run("diff", *paths, "--cast").out
    assert "(FLOAT [3] -> FLOAT16 [3]), 3 of its elements changed" in text
    assert run("diff", *paths, "--rtol", "-1").status == 2
