"""`onnxmap run`: inputs, outputs, comparisons with test data, and times."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.models.sample import write
from support.processes.command_line import Run
from support.saves.models import matmul_model, weight

import onnxmap
from onnxmap.cli.exit_status import UsageError
from onnxmap.cli.run import _outputs, differences, feeds_of

pytest.importorskip("onnxruntime")  # its newest release needs Python 3.11

WEIGHT = numpy_helper.to_array(weight("w", 4, 4))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = x @ w, for x of N rows."""
    return write(matmul_model([weight("w", 4, 4)]), tmp_path / "m.onnx")


def add_test_data(folder: Path, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Path:
    folder.mkdir()
    for name, array in ("input_0", x), ("output_0", y):
        data = numpy_helper.from_array(array.astype(np.float32)).SerializeToString()
        (folder / f"{name}.pb").write_bytes(data)
    return folder


@pytest.mark.parametrize("suffix", ["npy", "pb"])
def test_inputs_from_files(run: Run, model: Path, suffix: str, tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    path = tmp_path / f"x.{suffix}"
    if suffix == "npy":
        np.save(path, x)
    else:
        path.write_bytes(numpy_helper.from_array(x).SerializeToString())
    ran = run("run", model, "--input", f"x={path}", "--no-prepack")
    assert (ran.status, ran.err) == (0, "")
    head, *rows = ran.out.splitlines()
    assert head == "y  float32 [2, 4]"
    assert str(x @ WEIGHT) == "\n".join(rows[:2])


def test_times(run: Run, model: Path) -> None:
    ran = run("run", model, "--repeat", 3, "--json")
    ours, own = json.loads(ran.out)["times"]
    assert (ours["contender"], own["contender"]) == ("onnxmap", "onnxruntime")
    assert all(row["opening"] > 0 < row["running"] and row["error"] is None for row in (ours, own))
    lines = run("run", model).out.splitlines()
    assert lines[-3].split() == ["opening", "running"]
    assert [line.split()[0] for line in lines[-2:]] == ["onnxmap", "onnxruntime"]
    assert run("run", model, "--alone").out.splitlines()[-1].split()[0] == "onnxmap"


def test_onnxruntime_that_cannot_open_the_file(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str, _options: object) -> None:
        raise RuntimeError("no\nway \x1b[31m")

    monkeypatch.setattr("onnxmap.interop.ort.open_own_way", refuse)
    ran = run("run", model)
    assert ran.status == 0
    assert ran.out.splitlines()[-1] == r"onnxruntime: no way \x1b[31m"
    _, own = json.loads(run("run", model, "--json").out)["times"]
    assert own["error"] == "no way \x1b[31m"
    assert own["opening"] is own["running"] is None


def test_standard_input_has_no_path_for_onnxruntime(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = SimpleNamespace(buffer=io.BytesIO(model.read_bytes()))
    monkeypatch.setattr("sys.stdin", given)
    ran = run("run", "-")
    assert ran.status == 0
    assert ran.out.splitlines()[-1].split()[0] == "onnxmap"


def test_test_data(run: Run, model: Path, tmp_path: Path) -> None:
    x = np.ones((3, 4))
    good = add_test_data(tmp_path / "good", x, x @ WEIGHT)
    bad = add_test_data(tmp_path / "bad", x, x @ WEIGHT + np.eye(3, 4))
    ran = run("run", model, "--test-data", good)
    assert (ran.status, ran.out.splitlines()[0]) == (0, "no differences")
    ran = run("run", model, "--test-data", bad)
    assert ran.status == 1
    assert "'y' (FLOAT [3, 4]), 3 of its elements changed (25.000%), largest diff" in ran.out
    (found,) = json.loads(run("run", model, "--test-data", bad, "--json").out)["comparisons"]
    assert (found["name"], found["changed"], found["max_abs"]) == ("y", 3, pytest.approx(1))
    assert json.loads(run("run", model, "--json").out)["comparisons"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--input", "x"], "NAME=VALUE, not 'x'"),
        (["--input", "X=random"], "no input is named 'X'"),
        (["--size", "M=3"], "no dimension is named 'M'; the model has ['N']"),
        (["--size", "N=-1"], "negative dimensions"),
        (["--input", "x=missing.npy"], "missing.npy: No such file"),
        (["--repeat", "0"], "at least 1, not '0'"),
        (["--test-data", "d", "--size", "N=2"], "--test-data has all inputs"),
    ],
)
def test_wrong_words(run: Run, model: Path, words: list[str], message: str) -> None:
    ran = run("run", model, *words)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_a_model_that_cannot_run(run: Run, model: Path, tmp_path: Path) -> None:
    made = onnx.load(model)
    made.graph.node[0].op_type = "Nothing"
    ran = run("run", write(made, tmp_path / "bad.onnx"))
    assert ran.status == 2
    assert ran.err.startswith("onnxmap: onnxruntime refuses the model: ")
    assert "Nothing" in ran.err
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    ran = run("run", model, "--input", f"x={tmp_path / 'x.npy'}")
    assert ran.status == 2
    assert ran.err.startswith("onnxmap: onnxruntime cannot run the model: ")


def test_random_inputs() -> None:
    """By type; the same at each call; named dimensions have the size that is asked for, or 1."""
    types = ["FLOAT", "FLOAT16", "BFLOAT16", "INT64", "UINT8", "BOOL", "STRING"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.DataType.Value(name), ["N", 3, "M", None])
        for name in types
    ]
    graph = helper.make_graph([], "g", inputs, [], [weight("FLOAT", 2, 3, 1, 1)])
    data = helper.make_model(graph, ir_version=10).SerializeToString()
    model = onnxmap.loads(data)
    feeds = feeds_of(model, {}, {"N": "50"})
    assert list(feeds) == types[1:]  # the first one has an initializer
    assert all(array.shape == (50, 3, 1, 1) for array in feeds.values())
    for name, array in feeds.items():
        expected = object if name == "STRING" else onnxmap.DataType[name].numpy()
        assert array.dtype == expected
        np.testing.assert_array_equal(array, feeds_of(model, {}, {"N": "50"})[name])
    assert set(feeds["INT64"].reshape(-1)) == {0, 1}
    assert feeds_of(model, {"FLOAT": "random"}, {})["FLOAT"].shape == (1, 3, 1, 1)


def test_an_input_that_cannot_be_made_up() -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2])
    graph = helper.make_graph([], "g", [sequence], [])
    data = helper.make_model(graph, ir_version=10).SerializeToString()
    with pytest.raises(UsageError, match=r"'s' .* is not a tensor .* --test-data DIR"):
        feeds_of(onnxmap.loads(data), {}, {})


@pytest.mark.parametrize(
    ("kind", "shape", "sizes"),
    [
        (1, [2**40, 2**20], {}),
        (1, [1] * 70, {}),
        (99, [1], {}),
        (0, [1], {}),
        (1, ["N"], {"N": "99999999999"}),
        (1, ["N"], {"N": "9" * 5000}),
        (1, ["N"], {"N": "many"}),
        (1, None, {}),
    ],
)
def test_inputs_of_odd_models(kind: int, shape: Any, sizes: dict[str, str]) -> None:
    value = helper.make_tensor_value_info("x", kind, shape)
    data = helper.make_model(helper.make_graph([], "g", [value], [])).SerializeToString()
    with pytest.raises(UsageError):
        feeds_of(onnxmap.loads(data), {}, sizes)


def test_an_empty_file(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.npy").touch()
    ran = run("run", model, "--input", f"x={tmp_path / 'x.npy'}")
    assert (ran.status, ran.out) == (2, "")
    assert "x.npy: " in ran.err


def test_test_data_of_a_model_whose_weights_are_inputs(
    run: Run, model: Path, tmp_path: Path
) -> None:
    made = onnx.load(model)
    made.ir_version = 3
    made.graph.input.insert(0, helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 4]))
    path = write(made, tmp_path / "old.onnx")
    x = np.ones((3, 4))
    data = add_test_data(tmp_path / "data", x, x @ WEIGHT)
    assert run("run", path, "--test-data", data).status == 0


NAN = np.array([np.nan, 1.0])


@pytest.mark.parametrize(
    ("found", "expected", "told"),
    [
        (NAN, NAN, {}),
        (NAN, NAN * 1.0005, {}),
        (NAN, NAN * 1.01, {"y": 1}),
        (NAN, np.array([1.0, 1.0]), {"y": 1}),
        (NAN, NAN.astype(np.float32), {"y": None}),
        (NAN, NAN[:1], {"y": None}),
        (np.array([1, 2]), np.array([1, 3]), {"y": 1}),
        (np.array(["a"], object), np.array(["b"], object), {"y": 1}),
        ([NAN], [NAN], {}),
        ([NAN, NAN], [NAN, NAN * 2], {"y[1]": 1}),
        ([NAN], [NAN, NAN], {"y[1]": None}),
        ({"a": NAN}, {"a": NAN}, {}),
        ({"a": NAN}, {"b": NAN * 2}, {"y['b']": None, "y['a']": None}),
        ({"a": NAN}, {"a": NAN, "b": NAN}, {"y['b']": None}),
        ([NAN * 2, NAN[:1]], NAN, {"y": None, "y[0]": None, "y[1]": None}),
        ([{"a": 1.0}], [{"a": 2.0}], {"y[0]['a']": 1}),
        (None, None, {}),
        (None, NAN, {"y": None}),
    ],
)
def test_differences(found: Any, expected: Any, told: dict[str, int | None]) -> None:
    """The tensors that differ, with the number of elements; None if they are not compared."""
    differs = differences({"y": found, "more": NAN}, [expected])
    assert {each.name: each.changed for each in differs.tensors} == told
    assert differs.same is not bool(told)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_texts_cannot_control_the_terminal(shape: tuple[int, ...]) -> None:
    lines = list(_outputs({"name\x1b[31m": np.full(shape, "text\x1b[31m", object)}))
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("size", ["?", -1, "None", "unk__12", None])
def test_placeholders_are_no_dimensions(run: Run, tmp_path: Path, size: object) -> None:
    """An exporter wrote them for sizes that it did not know."""
    path = tmp_path / "m.onnx"
    x, y = (helper.make_tensor_value_info(name, 1, [size, 3, size]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
    ran = run("run", path, "--alone")
    assert (ran.status, ran.out.splitlines()[0]) == (0, "y  float32 [1, 3, 1]")
    assert "FLOAT [?, 3, ?]" in run("show", path).out
    with pytest.raises(UsageError, match="no dimension is named"):
        feeds_of(onnxmap.load(path), {}, {str(size): "5"})
