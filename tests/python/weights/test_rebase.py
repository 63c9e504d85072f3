"""`Model.rebase`: the structure of one model with the weights of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracles.tensors import assert_same_array

import onnxmap

OLD = {"a": np.zeros((2, 3)), "b": np.zeros(3, np.float32), "c": np.zeros(2, ml_dtypes.bfloat16)}
NEW = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.ones(3, np.float32),
    "c": np.ones(2, ml_dtypes.bfloat16),
}


def values(model: onnxmap.Model) -> dict[str, Any]:
    return {name: each.numpy().tolist() for name, each in model.initializers.items()}


def sources(folder: Path) -> dict[str, Any]:
    """The new weights in every form."""
    model = onnxmap.from_arrays(NEW)
    onnxmap.save_safetensors(model, folder / "w.safetensors", sync=False)
    model.save(folder / "w.onnx", external_data="w.data", sync=False)
    return {
        "arrays": NEW,
        "model": model,
        "external": onnxmap.load(folder / "w.onnx"),
        "safetensors": onnxmap.load_safetensors(folder / "w.safetensors"),
        "mixed": {**NEW, "a": onnxmap.load(folder / "w.onnx").initializers["a"]},
    }


def test_every_source(tmp_path: Path) -> None:
    for kind, other in sources(tmp_path).items():
        model = onnxmap.from_arrays(OLD)
        report = model.rebase(other)
        assert report == onnxmap.RebaseReport(["a", "b", "c"], [], []), kind
        for name, array in NEW.items():
            assert_same_array(model.initializers[name].numpy(), array)
        model.save(tmp_path / "out.onnx", external_data="out.data", sync=False)
        assert values(onnxmap.load(tmp_path / "out.onnx")) == values(model)


def test_it_is_an_edit(tmp_path: Path) -> None:
    onnxmap.from_arrays(OLD).save(tmp_path / "m.onnx", sync=False)
    model = onnxmap.load(tmp_path / "m.onnx")
    model.rebase(NEW)
    assert model.edited
    model.revert()
    assert values(model) == values(onnxmap.from_arrays(OLD))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (NEW | {"a": np.zeros((3, 2))}, r"'a' is DOUBLE \[2, 3\], not DOUBLE \[3, 2\]"),
        (NEW | {"b": np.zeros(3)}, r"'b' is FLOAT \[3\], not DOUBLE \[3\]"),
        ({"a": NEW["a"]}, "'b' is missing; 'c' is missing"),
        (NEW | {"d": np.zeros(1)}, "'d' is not in the model"),
    ],
)
def test_what_does_not_fit(other: dict[str, Any], text: str) -> None:
    model = onnxmap.from_arrays(OLD)
    with pytest.raises(onnxmap.EditError, match=text) as caught:
        model.rebase(other)
    assert caught.value.code == "edit.weights"
    assert values(model) == values(onnxmap.from_arrays(OLD))


def test_not_strict() -> None:
    model = onnxmap.from_arrays(OLD)
    report = model.rebase({"a": NEW["a"], "d": np.zeros(1)}, strict=False)
    assert report == onnxmap.RebaseReport(["a"], ["b", "c"], ["d"])
    assert values(model)["a"] == NEW["a"].tolist()
    with pytest.raises(onnxmap.EditError, match="'b' is FLOAT"):
        model.rebase({"b": np.zeros(3)}, strict=False)


def test_renamed_keys() -> None:
    other = {"old.a.weight": np.ones(1), "old.b.weight": np.ones(2), "head": np.ones(3)}
    names = {"new.a.w": np.zeros(1), "new.b.w": np.zeros(2), "out": np.zeros(3)}
    keys = {"old.*.weight": "new.*.w", "head": "out", "*": "never"}
    model = onnxmap.from_arrays(names)
    assert model.rebase(other, keys=keys).matched == list(names)
    model = onnxmap.from_arrays({name.upper(): array for name, array in other.items()})
    assert len(model.rebase(other, keys=str.upper).matched) == 3
    with pytest.raises(ValueError, match="both become 'x'"):
        model.rebase(other, keys={"old.*": "x"})
    for wrong in ("weights.npz", 5, None):
        with pytest.raises(TypeError, match="must be a Model or a mapping"):
            model.rebase(wrong)  # type: ignore[arg-type]
