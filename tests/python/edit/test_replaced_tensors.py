"""An assigned tensor replaces the one that was there, as in a dict."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper
from support.edits.rich_model import rich, saved

LARGE = 5_000


@pytest.mark.parametrize("kind", ["loaded", "small", "large"])
def test_tensors_are_swapped_as_in_a_dict(kind: str) -> None:
    model = rich()
    values = [np.arange(3, dtype=np.int16), np.ones((2, LARGE), np.float32)]
    if kind != "loaded":
        model.initializers["w"] = np.full(3 if kind == "small" else LARGE, 7, np.float32)
        model.initializers["v"] = np.full(4, 8, np.float32)
    weights = model.initializers
    names = ["w", "other"]
    weights["other"] = values[1]
    before = [weights[name].numpy() for name in names]
    first, second = (weights[name] for name in names)
    weights[names[0]], weights[names[1]] = weights[names[1]], weights[names[0]]
    for name, expected, old, was in zip(
        names, reversed(before), (first, second), before, strict=True
    ):
        assert np.array_equal(weights[name].numpy(), expected)
        assert weights[name].name == name
        assert np.array_equal(old.numpy(), was)  # the object that was read before
        with pytest.raises(ValueError, match="removed"):
            old.proto.doc_string = "new"
    stored = {tensor.name: tensor for tensor in saved(model).graph.initializer}
    for name, expected in zip(names, reversed(before), strict=True):
        assert np.array_equal(numpy_helper.to_array(stored[name]), expected)


def test_a_tensor_is_assigned_to_itself() -> None:
    weights = rich().initializers
    before = weights["w"].numpy()
    weights["w"] = weights["w"]
    assert np.array_equal(weights["w"].numpy(), before)


def test_revert_brings_a_replaced_tensor_back() -> None:
    model = rich()
    tensor = model.initializers["w"]
    before = tensor.numpy()
    model.initializers["w"] = np.zeros(3)
    assert tensor != model.initializers["w"]
    model.revert()
    assert tensor == model.initializers["w"]
    assert np.array_equal(tensor.numpy(), before)
    tensor.proto.doc_string = "new"
    assert model.initializers["w"].doc_string == "new"
