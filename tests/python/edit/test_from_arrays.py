"""`from_arrays` makes a model of arrays, which are held by reference until a save."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxmap

LARGE = 5_000  # bytes; arrays of 4096 and more are not copied


def test_the_model_holds_the_arrays_in_their_order(tmp_path: Path) -> None:
    large = np.arange(LARGE // 4, dtype=np.float32)
    given = {"z": large, "a": np.array([[1, 2]], np.int8), "n": 3, "t": ["x", "y"]}
    model = onnxmap.from_arrays(given, {"licence": "MIT"})
    model.save(tmp_path / "m.onnx")

    stored = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(stored, full_check=True)
    assert [tensor.name for tensor in stored.graph.initializer] == list(given)
    for tensor in stored.graph.initializer:
        wanted = np.asarray(given[tensor.name])
        found = numpy_helper.to_array(tensor)
        assert found.shape == wanted.shape
        assert found.tolist() == wanted.tolist()
    assert [(entry.key, entry.value) for entry in stored.metadata_props] == [("licence", "MIT")]
    assert [*stored.graph.node, *stored.graph.input, *stored.graph.output] == []


def test_large_arrays_are_not_copied(tmp_path: Path) -> None:
    large = np.zeros(LARGE, np.uint8)
    model = onnxmap.from_arrays({"w": large})
    large[:] = 7
    report = model.save(tmp_path / "m.onnx", "m.data")
    assert report.files == [str(tmp_path / "m.data"), str(tmp_path / "m.onnx")]
    assert (onnxmap.load_arrays(tmp_path / "m.onnx")["w"] == 7).all()


def test_tensors_of_models_are_taken_with_their_values(tmp_path: Path) -> None:
    onnxmap.from_arrays({"w": np.arange(LARGE)}).save(tmp_path / "a.onnx", "a.data")
    source = onnxmap.load(tmp_path / "a.onnx")
    model = onnxmap.from_arrays(source.initializers)
    assert model.initializers["w"].numpy().tolist() == list(range(LARGE))


def test_revert_takes_the_arrays_out_again() -> None:
    model = onnxmap.from_arrays({"w": np.ones(2)}, {"k": "v"})
    assert model.edited
    model.revert()
    assert (len(model.initializers), len(model.metadata_props)) == (0, 0)
    assert not onnxmap.from_arrays({}).edited


@pytest.mark.parametrize(
    ("arrays", "error", "said"),
    [
        ([np.ones(1)], TypeError, "arrays must be a mapping of names, not list"),
        ({1: np.ones(1)}, TypeError, "the name of a value is a str, not int"),
        ({"": np.ones(1)}, ValueError, "an initializer needs a name"),
        ({"w": object()}, TypeError, "expected an array"),
    ],
)
def test_what_is_no_array_is_refused(arrays: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        onnxmap.from_arrays(arrays)  # type: ignore[arg-type]
