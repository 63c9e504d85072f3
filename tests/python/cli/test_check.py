"""`onnxmap check`: its text, its JSON and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import ModelProto, helper
from support.models.sample import write
from support.processes.command_line import Ran, Run

import onnxmap


def model(path: Path, op_type: str = "Relu", inputs: tuple[str, ...] = ("x",)) -> Path:
    values = [helper.make_tensor_value_info(name, 1, [1]) for name in ("x", "y")]
    node = helper.make_node(op_type, inputs, ["y"], name="n")
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    made: ModelProto = helper.make_model(graph, ir_version=10)
    return write(made, path)


UNDEFINED = (
    "  error value.undefined: the node 'n' uses 'zz', which nothing defines "
    "(graph.node[0].input[0])\n"
    "    Correct the name, or add what defines the value. (IR.md, Nodes)\n"
)


def test_a_good_and_a_bad_model(run: Run, tmp_path: Path) -> None:
    good, bad = model(tmp_path / "good.onnx"), model(tmp_path / "bad.onnx", inputs=("zz",))
    assert run("check", good) == Ran(0, f"{good}: no findings\n", "")
    assert run("check", good, bad) == Ran(
        1, f"{good}: no findings\n{bad}: 1 error\n{UNDEFINED}", ""
    )


def test_warnings_and_hints_are_no_failure(run: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", "Clip", ("x", ""))
    ran = run("check", path)
    assert (ran.status, ran.out.splitlines()[0]) == (0, f"{path}: 1 hint")


def test_json(run: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", inputs=("zz",))
    ran = run("check", path, "--json")
    (told,) = json.loads(ran.out)
    assert (ran.status, told["model"], told["ok"]) == (1, str(path), False)
    assert told["counts"] == {"value.undefined": 1}
    (finding,) = told["findings"]
    assert finding == {
        "severity": "error",
        "rule": "value.undefined",
        "where": "graph.node[0].input[0]",
        "message": "the node 'n' uses 'zz', which nothing defines",
        "advice": "Correct the name, or add what defines the value.",
        "source": "IR.md, Nodes",
    }


def test_rules_are_chosen(run: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", inputs=("zz",))
    assert run("check", path, "--ignore", "value.*,node.*").status == 0
    assert run("check", path, "--select", "node.*").status == 0
    assert run("check", path, "--select", "value.undefined").status == 1
    ran = run("check", path, "--select", "value.undefinde")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("onnxmap: no rule is named 'value.undefinde'; did you mean")


def test_strict_operators_and_full(run: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", inputs=("x", "x"))
    ran = run("check", path)
    assert ran.status == 1
    assert "operator.inputs" in ran.out
    assert run("check", path, "--no-operators").status == 0
    ran = run("check", path, "--no-operators", "--full")
    assert ran.status == 1
    assert "onnx.checker" in ran.out
    odd = onnxmap.load(path)
    odd.graph.name = "a graph"
    odd.save(tmp_path / "odd.onnx")
    assert "graph.identifier" in run("check", tmp_path / "odd.onnx", "--strict").out


def test_a_file_that_is_no_model(run: Run, tmp_path: Path) -> None:
    good, bad = model(tmp_path / "good.onnx"), tmp_path / "bad.onnx"
    bad.write_bytes(b"\xff")
    ran = run("check", bad, good)
    assert (ran.status, ran.out) == (2, f"{good}: no findings\n")
    assert ran.err.startswith("onnxmap: ")
    assert len(ran.err.splitlines()) == 1


def test_an_operator_set(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "set.pb"
    made = onnxmap.new("OperatorSetProto", magic="ONNXOPSET", ir_version=8, opset_version=0)
    path.write_bytes(made.SerializeToString())
    ran = run("check", path)
    assert (ran.status, ran.out.splitlines()[0]) == (1, f"{path}: 1 error")
    assert "operator_set.version" in ran.out


@pytest.mark.parametrize("option", ["--values", "--strict", "--json"])
def test_each_option_takes_a_good_model(run: Run, tmp_path: Path, option: str) -> None:
    assert run("check", model(tmp_path / "good.onnx"), option).status == 0
