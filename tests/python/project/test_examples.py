"""The scripts in examples/, each run on a small model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxmap

EXAMPLES = Path(__file__).parents[3] / "examples"
WEIGHT = np.arange(512, dtype=np.float32).reshape(256, 2) / 512


def run(script: str, *arguments: object, status: int = 0, requests: str = "") -> str:
    """What a script prints. It must end with this status, and warn of nothing."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script, *map(str, arguments)],
        input=requests,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (status, "")
    return ran.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """LeakyRelu(x @ w + b), whose weights are inline."""
    graph = onnxmap.make_graph(
        [
            onnxmap.make_node("MatMul", ["x", "w"], ["product"]),
            onnxmap.make_node("Add", ["product", "b"], ["sum"]),
            onnxmap.make_node("LeakyRelu", ["sum"], ["y"], name="leak", alpha=0.5),
        ],
        "main",
        [onnxmap.make_value_info("x", ("float32", ["n", 256]))],
        [onnxmap.make_value_info("y", ("float32", ["n", 2]))],
    )
    made = onnxmap.make_model(graph, opset_imports={"": 21}, ir_version=10)
    built = onnxmap.loads(onnxmap.dumps(made))
    built.initializers["w"] = WEIGHT
    built.initializers["b"] = np.zeros(2, np.float32)
    path = tmp_path / "model.onnx"
    built.save(path)
    return path


def test_inspect_model(model: Path) -> None:
    lines = run("inspect_model.py", model).splitlines()
    assert lines[0] == f"{model}: IR 10, operator sets {{'': 21}}"
    assert lines[1:3] == ["  x: FLOAT ('n', 256)", "  y: FLOAT ('n', 2)"]
    assert lines[3] == "3 nodes"
    assert sorted(lines[4:7]) == ["  1 Add", "  1 LeakyRelu", "  1 MatMul"]
    assert lines[7:9] == ["2 weights, 2,056 bytes", "  w: FLOAT (256, 2), 2,048 bytes, inline"]


def test_quantization_error(model: Path) -> None:
    _, *rows = run("quantization_error.py", model, "1MiB").splitlines()
    ((name, scale, error),) = [row.split("\t") for row in rows]  # b is zero
    assert (name, scale) == ("w", f"{WEIGHT.max() / 127:.3g}")
    assert 0.001 < float(error) < 0.01


def test_to_external_data(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out/model.onnx"
    out.parent.mkdir()
    assert run("to_external_data.py", model, out).startswith("model.onnx.data: 2,048 bytes\n")
    weight, bias = onnx.load(out, load_external_data=False).graph.initializer
    assert weight.external_data[0].value == "model.onnx.data"
    assert (out.parent / "model.onnx.data").read_bytes() == WEIGHT.tobytes()
    assert bias.raw_data == bytes(8)


def test_edit_model(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    edits = ("--rename", "w", "weight", "--set", "leak", "alpha", "0.25")
    assert run("edit_model.py", model, out, *edits) == f"wrote {out}\n"
    graph = onnx.load(out).graph
    assert graph.initializer[0].name == graph.node[0].input[1] == "weight"
    assert graph.node[2].attribute[0].f == 0.25


def test_serve(model: Path) -> None:
    pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11
    requests = [json.dumps({"x": [[sign] * 256]}) + "\n" for sign in (1, -1)]
    answers = map(json.loads, run("serve.py", model, requests="".join(requests)).splitlines())
    total = WEIGHT.sum(axis=0)
    for answer, expected in zip(answers, (total, -0.5 * total), strict=True):
        np.testing.assert_allclose(answer["y"], [expected], rtol=1e-5)


def test_compare_models(model: Path, tmp_path: Path) -> None:
    assert "the models are equivalent" in run("compare_models.py", model, model)
    other = onnxmap.load(model)
    other.initializers["w"] = WEIGHT + np.float32(0.25)
    other.save(tmp_path / "other.onnx")
    pair = (model, tmp_path / "other.onnx")
    assert run("compare_models.py", *pair, status=1).endswith("beyond the tolerance: w\n")
    assert run("compare_models.py", *pair, 0.5).endswith("beyond the tolerance: none\n")


def test_each_script_is_short_and_run_here() -> None:
    tests = Path(__file__).read_text()
    for script in EXAMPLES.glob("*.py"):
        assert f'run("{script.name}"' in tests
        assert len(script.read_text().splitlines()) <= 40, script
