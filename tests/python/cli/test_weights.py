"""`onnxmap convert`, `extract` and `save --weights`; files of weights in other commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from support.models.weighted import Values, values_of
from support.processes.command_line import Run

import onnxmap


def arrays_of(path: Path) -> dict[str, list[float]]:
    """The arrays in a file, read by the library of its form."""
    if path.suffix == ".safetensors":
        return {name: array.tolist() for name, array in load_file(path).items()}
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return {name: archive[name].tolist() for name in archive.files}
    return {name: array.tolist() for name, array in onnxmap.load_arrays(path).items()}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    onnxmap.from_arrays(
        {
            "a.weight": np.ones((4, 5), np.float32),
            "b.weight": np.ones(9, np.float16),
            "a.bias": np.ones((), np.int64),
        }
    ).save(path)
    return path


def test_convert_from_each_form_to_each(run: Run, model: Path) -> None:
    expected = arrays_of(model)
    last = model
    for name in ("a.onnx", "b.safetensors", "c.npz", "d.onnx", "e.npz", "f.safetensors"):
        ran = run("convert", last, model.parent / name, "--json")
        assert (ran.status, ran.err) == (0, "")
        assert json.loads(ran.out)["files"] == [str(model.parent / name)]
        last = model.parent / name
        assert arrays_of(last) == expected


def test_convert_to_external_data(run: Run, model: Path, values: Values) -> None:
    weights = model.parent / "w.safetensors"
    assert run("convert", model, weights).status == 0
    out = model.parent / "n.onnx"
    ran = run("convert", weights, out, "--external-data", "n.safetensors")
    assert ran.status == 0
    assert "n.safetensors" in ran.out
    assert arrays_of(out) == arrays_of(model)
    assert run("convert", model, out, "--external-data", "n.data").status == 0
    assert values_of(out) == values


@pytest.mark.parametrize(
    "words", [["w.safetensors", "--external-data", "d"], ["w.txt"], ["w.npz", "--allow-over-2gib"]]
)
def test_convert_refuses(run: Run, small: Path, words: list[str]) -> None:
    ran = run("convert", small, small.parent / words[0], *words[1:])
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert [path.name for path in small.parent.iterdir()] == ["small.onnx"]


def test_a_file_that_must_not_be_written_to(run: Run, small: Path) -> None:
    out = small.parent / "w.safetensors"
    assert run("convert", small, out).status == 0
    out.chmod(0o444)
    assert run("convert", small, out).status == 2
    assert run("convert", small, out, "--replace-read-only", "--no-sync").status == 0


@pytest.mark.parametrize("command", ["convert", "extract"])
def test_types(run: Run, small: Path, command: str) -> None:
    out = small.parent / "w.npz"
    words = [out] if command == "convert" else ["-o", out]
    assert run(command, small, *words, "--dtype", "a.*=float16").status == 0
    with np.load(out) as archive:
        kinds = {name: archive[name].dtype.name for name in archive.files}
    assert kinds == {"a.weight": "float16", "b.weight": "float16", "a.bias": "int64"}
    assert run("convert", small, small.parent / "n.onnx", "--dtype", "bfloat16").status == 0
    (cast, _) = onnxmap.load(small.parent / "n.onnx").graph.nodes
    assert cast.op_type == "Cast"


def test_extract(run: Run, small: Path) -> None:
    out = small.parent / "w.npz"
    assert run("extract", small, "*.weight", "-o", out).status == 0
    assert set(arrays_of(out)) == {"a.weight", "b.weight"}
    assert run("extract", small, "a.bias", "-o", small.parent / "w.npy").status == 0
    assert np.load(small.parent / "w.npy") == 1
    assert run("extract", small, "-o", small.parent / "w.safetensors").status == 0
    assert len(arrays_of(small.parent / "w.safetensors")) == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a.wait", "-o", "w.npz"], "no tensor is named 'a.wait'; did you mean"),
        (["-o", "w.bin"], "must end in .safetensors, .npz or .npy"),
        (["-o", "w.npy"], "holds one tensor, not 3"),
        ([], "the following arguments are required: -o"),
    ],
)
def test_extract_refuses(run: Run, small: Path, words: list[str], text: str) -> None:
    given = [str(small.parent / word) if word.startswith("w.") else word for word in words]
    ran = run("extract", small, *given)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert text in ran.err
    assert [path.name for path in small.parent.iterdir()] == ["small.onnx"]


def test_every_command_opens_files_of_weights(run: Run, small: Path) -> None:
    for name in ("w.safetensors", "w.npz"):
        path = small.parent / name
        run("convert", small, path)
        rows = json.loads(run("ls", path, "--json").out)
        assert {row["name"] for row in rows} == set(onnxmap.load(small).initializers)
        for command in ("show", "stats", "check"):
            assert run(command, path).status == 0
        assert run("diff", path, path).status == 0
        assert run("ls", path, "--external-root", small.parent).status == 2


def test_weights_of_another_model(run: Run, model: Path) -> None:
    out = model.parent / "n.onnx"
    onnxmap.from_arrays(
        {name: array + 1 for name, array in onnxmap.load_arrays(model).items()}
    ).extract_weights(model.parent / "w.safetensors")
    assert run("save", model, out, "--weights", model.parent / "w.safetensors").status == 0
    assert arrays_of(out) == arrays_of(model.parent / "w.safetensors")
    onnxmap.from_arrays({"inside": np.ones(1)}).save(model.parent / "o.onnx")
    ran = run("save", model, out, "--weights", model.parent / "o.onnx")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "the weights do not fit: 'inside' is" in ran.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("convert m.onnx w.safetensors", "--lift-constants"),
        ("convert m.onnx n.onnx --external-data w.data", "--attributes"),
        ("extract m.onnx -o w.npz", "--lift-constants"),
        ("save m.onnx n.onnx --dtype float16", "--lift-constants"),
        ("save m.onnx n.onnx --external-data w.data", "--attributes"),
    ],
)
def test_weights_in_constant_nodes(
    run: Run, line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    array = onnxmap.make_tensor("any name", "float32", [20, 20], np.ones(400))
    model = onnxmap.from_arrays({})
    model.opset_imports[""] = 21
    model.graph.nodes.append(onnxmap.make_node("Constant", [], ["w"], value=array))
    model.save("m.onnx")
    ran = run(*line.split())
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]
